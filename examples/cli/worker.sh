#!/bin/sh
# Takes tasks of a pool with the nats CLI and finishes them: worker.sh POOL [COUNT]. NATS_URL says
# where. Beside --ack there are --nak (try again after the backoff) and --term (dead letter); "str
# seq" in the output is the fencing token. The CLI acknowledges what it has printed, before anything
# is done with it: good for looking and for work done by hand. A script that must not lose a task
# acknowledges after its work: `ax work POOL --exec CMD` does.
pool=$1 count=${2:-1}
while [ "$count" -gt 0 ]; do
    nats consumer next --ack --timeout 30s -- AX_WORK "$pool" && count=$((count - 1))
done
