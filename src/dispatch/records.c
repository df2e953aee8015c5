#include "dispatch/records.h"

#include <inttypes.h>
#include <stdio.h>

#include "dispatch/dispatch.h"
#include "dispatch/pool.h"

#define BUCKET_WINDOW_MS (7LL * 24 * 3600 * 1000)

ax_err records_write(struct pool *p, enum record_state state, const char *id, uint32_t attempt, uint64_t fence, pipeline_cb cb,
                     void *arg)
{
    struct dispatch *d = p->dispatch;
    struct record rec = {.state = state, .attempt = attempt, .fence = fence, .finished_ns = clock_ax_ns(&d->clock)};
    char subject[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX], ttl[24];
    uint8_t buf[RECORD_MAX_BYTES];
    natsMsg *msg = NULL;
    snprintf(rec.pool, sizeof rec.pool, "%s", p->name);
    record_subject(subject, id);
    ax_err err = pipeline_reserve(d->pipeline, reply);
    if (err != AX_OK)
        return err;
    size_t n = record_pack(&rec, buf, sizeof buf);
    if (natsMsg_Create(&msg, subject, reply, (const char *) buf, (int) n) == NATS_OK &&
        p->settings.window_ms < BUCKET_WINDOW_MS) {
        snprintf(ttl, sizeof ttl, "%" PRId64 "s", (p->settings.window_ms + 999) / 1000);
        natsMsgHeader_Set(msg, HDR_TTL, ttl);
    }
    return pipeline_publish(d->pipeline, reply, msg, 0, cb, arg);
}
