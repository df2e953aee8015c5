#!/usr/bin/env bash
# What `ax work` runs in the chaos harness: tells the sink (TCP port CHAOS_SINK) of the start,
# applies the effect, and ends with the code that is the ack.
body=$(cat)
exec 3<>"/dev/tcp/127.0.0.1/$CHAOS_SINK" || exit 75
say() {
    printf '{"e":"%s","task":"%s","fence":%s,"who":"%s","pool":"%s","attempt":%s,"key":"%s","priority":"%s"}\n' \
        "$1" "$AX_TASK" "$AX_FENCE" "$CHAOS_NAME" "$AX_POOL" "$AX_ATTEMPT" "$AX_KEY" "$AX_PRIORITY" >&3
    read -r answer <&3
}
say start || exit 75
before=$answer
case $body in
*'"fail"'*) say naking; exit 1 ;;
*'"nak"'*) [ "$before" -gt 0 ] || { say naking; exit 1; } ;;
*'"term"'*) say terming; echo poison >&2; exit 65 ;;
esac
say apply || exit 75
[ "$answer" != stale ] || exit 75
say acking
