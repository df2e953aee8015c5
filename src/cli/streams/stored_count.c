#include "cli/streams/stored_count.h"

#include "cli/streams/stored_each.h"

static void count_one(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    uint64_t *count = arg;
    (void)subject;
    (void)seq;
    (void)time_ns;
    (void)msg;
    ++*count;
}

ax_err stored_count(natsConnection *nc, const char *stream, const char *filter, uint64_t *out,
                    struct problem *p)
{
    struct stored_range range = {.stream = stream, .filter = filter, .limit = 1, .batch = 1};
    *out = 0;
    /* The first one tells how many there are behind it: they need not be listed. */
    ax_err err = stored_each(nc, &range, count_one, out, p);
    *out += range.left;
    return err;
}
