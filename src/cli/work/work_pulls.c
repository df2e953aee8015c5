#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/stored.h"
#include "cli/work/work.h"

#define EXPIRES_MS 30000
/* Past its expiry by this much without the server's 408: the request got lost. */
#define LAPSE_MS 2000
#define AFTER_REFUSAL_MS 500

void pulls_want(struct pulls *p, int free, int step)
{
    int more = free - p->asked;
    if (p->missing || more < 1 || (more < step && p->asked > 0) || p->open_count == PULLS_MAX ||
        clock_now_ms() < p->not_before_ms)
        return;
    char reply[128], payload[64];
    uint64_t number = ++p->numbers;
    snprintf(reply, sizeof(reply), "%s.%" PRIu64, p->inbox, number);
    snprintf(payload, sizeof(payload), "{\"batch\":%d,\"expires\":%" PRId64 "}", more,
             EXPIRES_MS * INT64_C(1000000));
    if (natsConnection_PublishRequest(p->nc, p->subject, reply, payload, (int)strlen(payload)) !=
        NATS_OK) {
        p->not_before_ms = clock_now_ms() + AFTER_REFUSAL_MS;
        return;
    }
    p->open[p->open_count].number = number;
    p->open[p->open_count].left = more;
    p->open[p->open_count].due_ms = clock_now_ms() + EXPIRES_MS + LAPSE_MS;
    p->open_count++;
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
    /* A delivered message does not say which request it answers: the server serves the oldest
     * first. */
    if (p->open_count == 0)
        return;
    p->asked--;
    if (--p->open[0].left <= 0)
        close_at(p, 0);
}

void pulls_status(struct pulls *p, uint64_t number, natsMsg *msg)
{
    const char *status = stored_header(msg, "Status");
    int code = status ? atoi(status) : 0;
    if (code == 100)
        return;
    for (int i = 0; i < p->open_count; i++) {
        if (p->open[i].number != number)
            continue;
        p->asked -= (int)stored_number(msg, "Nats-Pending-Messages", p->open[i].left);
        close_at(p, i);
        break;
    }
    if (code == 408)
        return;
    const char *text = stored_header(msg, "Description");
    char buf[128];
    log_debug("pull refused", "status=%d text=%s", code,
              log_quote(text ? text : "", buf, sizeof(buf)));
    p->not_before_ms = clock_now_ms() + AFTER_REFUSAL_MS;
    if (code == 503 || (text && strcasestr(text, "deleted")))
        p->missing = true;
}

bool pulls_expire(struct pulls *p)
{
    bool any = false;
    while (p->open_count > 0 && p->open[0].due_ms <= clock_now_ms()) {
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
