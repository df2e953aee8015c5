#include "ingress/submit/submission_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/saturate.h"
#include "base/text/rfc3339.h"
#include "ingress/key_index.h"
#include "ingress/pools.h"
#include "ingress/queue/queue.h"
#include "ingress/submit/submits.h"
#include "task/cron.h"

static void refuse(struct submission *s, enum refusal why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void refuse(struct submission *s, enum refusal why, const char *format, ...)
{
    struct problem p = {.err = AX_E_INVALID};
    va_list args;
    va_start(args, format);
    vsnprintf(p.text, sizeof(p.text), format, args);
    va_end(args);
    submission_refuse_for(s, why, &p);
}

static bool refuse_cron(struct submission *s)
{
    struct problem p = {0};
    if (s->task.cron == NULL || cron_check(&s->task, &p) == AX_OK)
        return false;
    submission_refuse_for(s, REFUSED_CRON, &p);
    return true;
}

static bool refuse_pool(struct submission *s)
{
    struct ingress *ing = s->ing;
    struct verdict v;
    enum pools_claim claim = pools_claim(ing->pools, s->task.pool);
    if (claim == POOLS_KNOWN || claim == POOLS_CLAIMED) {
        s->claims_pool = claim == POOLS_CLAIMED;
        s->pool_removals = pools_removals(ing->pools);
        return false;
    }
    if (claim == POOLS_STRICT) {
        refuse(s, REFUSED_POOL,
               "pool: \"%s\" is not known; an operator adds one with: ax pool add %s", s->task.pool,
               s->task.pool);
    } else if (claim == POOLS_FULL) {
        refuse(s, REFUSED_POOL,
               "pool: \"%s\" is not known, and there are %" PRId64 " pools, as many as --max-pools "
               "(%" PRId64 ") allows; an operator removes one with: ax pool rm NAME",
               s->task.pool, pools_count(ing->pools), ing->options->max_pools);
    } else if (claim == POOLS_BUSY && s->facts.replies) {
        answer_set_error(
            &v, 503, JSERR_STORE_FULL, POOLS_BUSY_MS,
            "pool: \"%s\" is new, and too many others are new at this moment, retry in "
            "%dms",
            s->task.pool, POOLS_BUSY_MS);
        submission_refuse(s, REFUSED_BUSY, &v);
    } else {
        submission_event(s, SUBMISSION_UNREADY);
    }
    return true;
}

/* Delay, time and expiry in AX time. */
static bool refuse_time(struct submission *s)
{
    struct ingress *ing = s->ing;
    struct task *t = &s->task;
    struct verdict v;
    bool delayed = t->delay_ms > 0 || t->at_ns > 0 || t->cron != NULL;
    if (!delayed && t->expires_ns == 0 && t->expires_in_ms == 0)
        return false;
    int64_t now = clock_ax_ns(ing->clock), behind = clock_behind_ns(ing->clock);
    if (delayed && (now == 0 || behind > CLOCK_BEHIND_LIMIT_NS)) {
        int64_t retry_ms = behind / 1000000 + 1;
        retry_ms = retry_ms < SUBMITS_RETRY_MS    ? SUBMITS_RETRY_MS
                   : retry_ms > DRAIN_HINT_MAX_MS ? DRAIN_HINT_MAX_MS
                                                  : retry_ms;
        answer_set_error(&v, 503, JSERR_INSUFFICIENT_RESOURCES, retry_ms,
                         "clock: the server's clock was set back by %" PRId64
                         "ms; delayed tasks are refused until it has "
                         "caught up, retry in %" PRId64 "ms",
                         behind / 1000000, retry_ms);
        submission_refuse(s, REFUSED_CLOCK, &v);
        return true;
    }
    if (t->expires_in_ms > 0)
        t->expires_ns = saturate_add(now, saturate_mul(t->expires_in_ms, 1000000));
    int64_t due = t->at_ns > 0      ? t->at_ns
                  : t->delay_ms > 0 ? saturate_add(now, saturate_mul(t->delay_ms, 1000000))
                                    : 0;
    s->due_ns = t->cron != NULL ? INT64_MAX : due > now ? due : 0;
    if (t->expires_ns > 0 && t->expires_ns <= (s->due_ns > 0 ? s->due_ns : now)) {
        char expires[32], start[32];
        refuse(s, REFUSED_EXPIRED,
               "Ax-Expires: %s is not after %s, when the task could start at the earliest",
               rfc3339_format(t->expires_ns, expires),
               rfc3339_format(s->due_ns > 0 ? s->due_ns : now, start));
        return true;
    }
    return false;
}

static void refuse_later_for(struct submission *s, enum later_room room,
                             const struct over_quota *over)
{
    const struct later *l = &s->ing->later;
    struct verdict v;
    int64_t retry_ms = SUBMITS_RETRY_MS;
    if (room == LATER_FULL) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, retry_ms,
                         "AX_LATER is full (%" PRId64 " tasks), retry in %" PRId64 "ms", l->max,
                         retry_ms);
    } else if (room == LATER_FULL_BYTES) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, retry_ms,
                         "AX_LATER is full (%" PRId64
                         " bytes, ax.max_later_bytes), retry in %" PRId64 "ms",
                         l->max_bytes, retry_ms);
    } else {
        retry_ms = over->soon ? SUBMITS_RETRY_MS : 10 * SUBMITS_RETRY_MS;
        answer_set_error(&v, 503, JSERR_STORE_FULL, retry_ms,
                         "AX_LATER: pool \"%s\" has %" PRId64 " of %" PRId64
                         " places, the rest is kept for other pools, retry in %" PRId64 "ms",
                         s->task.pool, over->held, l->max, retry_ms);
    }
    submission_refuse(s, room == LATER_OVER_SHARE ? REFUSED_LATER_SHARE : REFUSED_LATER_FULL, &v);
}

static bool refuse_later(struct submission *s)
{
    struct over_quota over;
    if (s->due_ns == 0)
        return false;
    later_settled(&s->ing->later, &s->later, false); /* of a check before this one */
    enum later_room room = later_take(s->ing, s->task.pool, s->task.body_bytes, &s->later, &over);
    if (room == LATER_ROOM)
        return false;
    if (room == LATER_UNREADY)
        submission_event(s, SUBMISSION_UNREADY);
    else
        refuse_later_for(s, room, &over);
    return true;
}

void submission_check(struct submission *s)
{
    struct ingress *ing = s->ing;
    struct task *t = &s->task;
    struct problem p = {0};
    char list[PRIORITIES_MAX * (NAME_MAX_CHARS + 2) + 1];
    s->queue = queue_find(ing, t->priority);
    if (s->queue == NULL) {
        refuse(s, REFUSED_PRIORITY, "priority: there is no \"%s\"; there are: %s", t->priority,
               queues_list(ing, list, sizeof(list)));
        return;
    }
    if (task_check_size(t, wire_max_payload(ing->wire), &p) != AX_OK) {
        submission_refuse_for(s, REFUSED_SIZE, &p);
        return;
    }
    if (refuse_cron(s) || refuse_time(s) || refuse_later(s) || refuse_pool(s))
        return;
    metric_add(s->queue->count.submitted, 1);
    t->attempt = 1;
    t->timeouts = t->given_back = 0;
    t->submitted = clock_stamp(ing->clock);
    unsigned places = t->key != NULL ? key_index_maybe(ing->key_index, t->id) : 0;
    s->facts.maybe_done = (places & KEY_DONE) != 0;
    s->facts.maybe_later = (places & KEY_LATER) != 0;
    s->facts.maybe_dead = (places & KEY_DEAD) != 0;
    submission_event(s, SUBMISSION_VALID);
}
