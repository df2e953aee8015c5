#!/bin/sh
# Submits one task with the nats CLI: producer.sh POOL KEY BODY. NATS_URL says where.
# The message id is the idempotency key: publishing it again, today or in six days, starts nothing
# new.
pool=$1 key=$2 body=$3
# Behind -- nothing is a flag, whatever the body begins with.
while ! answer=$(nats pub --jetstream --no-templates --header "Nats-Msg-Id:$key" \
    -- "ax.submit.high.$pool" "$body" 2>&1); do
    printf '%s\n' "$answer"
    wait_ms=$(printf '%s\n' "$answer" | sed -n 's/.*retry in \([0-9]*\)ms.*/\1/p')
    # No hint: the task itself is wrong, or there is no server. Sending it again at once cannot help.
    [ -n "$wait_ms" ] || exit 1
    sleep "$(awk "BEGIN { print $wait_ms / 1000 }")"
done
printf '%s\n' "$answer"
