#include "dispatch/attempt/hand_off_time.h"

#include "base/saturate.h"

struct hand_off_time hand_off_time_sent(const struct clock *c)
{
    return (struct hand_off_time){.sent_ns = clock_mono_ns(c), .offset_ns = clock_offset_ns(c)};
}

struct hand_off_time hand_off_time_since(struct clock *c, int64_t queued_ns)
{
    struct hand_off_time t = hand_off_time_sent(c);
    int64_t ago_ns = clock_is_set(c) ? saturate_sub(clock_ax_ns(c), queued_ns) : INT64_MAX;
    if (ago_ns > 0)
        t.sent_ns = saturate_sub(t.sent_ns, ago_ns);
    return t;
}

bool hand_off_time_fits(const struct hand_off_time *t, int64_t ack_stored_ns, int64_t heard_ns,
                        int64_t offset_ns)
{
    if (t->stored_ns != 0)
        return ack_stored_ns == t->stored_ns;
    if (t->exact_only || heard_ns < t->sent_ns)
        return false;
    if (t->offset_ns == CLOCK_OFFSET_UNKNOWN || offset_ns == CLOCK_OFFSET_UNKNOWN)
        return true; /* no server has told a time yet */
    int64_t least = t->offset_ns < offset_ns ? t->offset_ns : offset_ns;
    int64_t most = t->offset_ns > offset_ns ? t->offset_ns : offset_ns;
    int64_t until_ns = t->answered_ns != 0 ? t->answered_ns : heard_ns;
    int64_t from_ns = saturate_sub(saturate_add(t->sent_ns, least), HAND_OFF_TIME_MARGIN_NS);
    until_ns = saturate_add(saturate_add(until_ns, most), HAND_OFF_TIME_MARGIN_NS);
    return ack_stored_ns >= from_ns && ack_stored_ns <= until_ns;
}
