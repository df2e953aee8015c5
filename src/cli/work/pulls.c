#include "cli/work/pulls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/streams/stored.h"

#define EXPIRES_MS 30000
/* The server says 408 when a request expires. When it has not done so this long after, the request
 * never reached it. */
#define LAPSE_MS 2000
#define AFTER_REFUSAL_MS 500

enum { STATUS_IDLE = 100, STATUS_EXPIRED = 408 };

void pulls_want(struct pulls *p, int free_slots, int step)
{
    int more = free_slots - p->asked;
    int64_t now_ms = clock_now_ms();
    if (p->suspended || more < 1 || (more < step && p->asked > 0) || p->open_count == PULLS_MAX ||
        now_ms < p->not_before_ms)
        return;
    int64_t expires_ms = EXPIRES_MS;
    if (p->batch_max > 0 && more > p->batch_max)
        more = (int)p->batch_max;
    if (p->expires_max_ms > 0 && expires_ms > p->expires_max_ms)
        expires_ms = p->expires_max_ms;
    char reply[128], payload[64];
    uint64_t number = ++p->numbers;
    snprintf(reply, sizeof(reply), "%s.%" PRIu64, p->inbox, number);
    snprintf(payload, sizeof(payload), "{\"batch\":%d,\"expires\":%" PRId64 "}", more,
             expires_ms * INT64_C(1000000));
    if (natsConnection_PublishRequest(p->nc, p->subject, reply, payload, (int)strlen(payload)) !=
        NATS_OK) {
        p->not_before_ms = now_ms + AFTER_REFUSAL_MS;
        return;
    }
    p->open[p->open_count++] = (struct pull){number, more, now_ms + expires_ms + LAPSE_MS};
    p->asked += more;
}

static void close_at(struct pulls *p, int i)
{
    memmove(&p->open[i], &p->open[i + 1], (size_t)(p->open_count - i - 1) * sizeof(p->open[0]));
    p->open_count--;
    if (p->open_count == 0 || p->asked < 0)
        p->asked = 0;
}

void pulls_got(struct pulls *p)
{
    /* A task does not name the request that it answers: the server serves the oldest first. */
    if (p->open_count == 0)
        return;
    p->asked--;
    if (--p->open[0].left <= 0)
        close_at(p, 0);
}

/* A request has ended; msg tells how many tasks it did not bring, and is right where ours may have
 * been taken off another request. */
static void close_number(struct pulls *p, uint64_t number, natsMsg *msg)
{
    for (int i = 0; i < p->open_count; i++) {
        if (p->open[i].number != number)
            continue;
        p->asked -= (int)stored_number(msg, "Nats-Pending-Messages", p->open[i].left);
        close_at(p, i);
        return;
    }
}

bool pulls_status(struct pulls *p, uint64_t number, natsMsg *msg)
{
    int64_t status = stored_number(msg, "Status", 0);
    if (status == STATUS_IDLE)
        return false;
    close_number(p, number, msg);
    if (status == STATUS_EXPIRED)
        return false;
    const char *text = stored_header(msg, "Description");
    char buf[128];
    log_limited(&p->refused, clock_now_ns(), LOG_WARN,
                "the server refused or ended a pull request; asking again",
                "status=%" PRId64 " text=%s", status,
                log_quote(text != NULL ? text : "", buf, sizeof(buf)));
    p->not_before_ms = clock_now_ms() + AFTER_REFUSAL_MS;
    p->suspended = true;
    return true;
}

bool pulls_expire(struct pulls *p)
{
    bool any = false;
    int64_t now_ms = clock_now_ms();
    while (p->open_count > 0 && p->open[0].due_ms <= now_ms) {
        p->asked -= p->open[0].left;
        close_at(p, 0);
        any = true;
    }
    return any;
}

void pulls_reset(struct pulls *p)
{
    p->asked = 0;
    p->open_count = 0;
}
