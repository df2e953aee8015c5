#include "cli/work/acks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"

#define REPEAT_MS 2000
/* After that the attempt's lease has expired and the dispatcher has decided without the ack. */
#define GIVE_UP_MS 120000

struct ack_pending {
    struct ack_pending *prev, *next; /* utlist */
    char *subject;
    char payload[ACKS_PAYLOAD_MAX];
    uint64_t number;
    int64_t due_ms, give_up_ms;
};

static void publish(struct acks *a, struct ack_pending *one)
{
    char reply[128];
    snprintf(reply, sizeof(reply), "%s.ack.%" PRIu64, a->inbox, one->number);
    natsConnection_PublishRequest(a->nc, one->subject, reply, one->payload,
                                  (int)strlen(one->payload));
    one->due_ms = clock_now_ms() + REPEAT_MS;
}

void acks_send(struct acks *a, const char *ack_subject, const char *payload)
{
    struct ack_pending *one = calloc(1, sizeof(*one));
    char *subject = strdup(ack_subject);
    if (one == NULL || subject == NULL) {
        free(one);
        free(subject);
        natsConnection_Publish(a->nc, ack_subject, payload, (int)strlen(payload));
        return;
    }
    one->subject = subject;
    snprintf(one->payload, sizeof(one->payload), "%s", payload);
    one->number = ++a->numbers;
    one->give_up_ms = clock_now_ms() + GIVE_UP_MS;
    DL_PREPEND(a->list, one);
    a->count++;
    publish(a, one);
}

static void drop(struct acks *a, struct ack_pending *one)
{
    DL_DELETE(a->list, one);
    free(one->subject);
    free(one);
    a->count--;
}

void acks_confirmed(struct acks *a, uint64_t number)
{
    struct ack_pending *one;
    DL_SEARCH_SCALAR(a->list, one, number, number);
    if (one != NULL)
        drop(a, one);
}

void acks_repeat(struct acks *a, bool all)
{
    int64_t now_ms = clock_now_ms();
    struct ack_pending *one, *next;
    DL_FOREACH_SAFE(a->list, one, next) {
        if (one->give_up_ms <= now_ms) {
            log_warn("ack never confirmed", "ack=\"%.40s\" subject=%s", one->payload, one->subject);
            drop(a, one);
        } else if (all || one->due_ms <= now_ms) {
            publish(a, one);
        }
    }
}

int64_t acks_due_ms(const struct acks *a)
{
    int64_t due_ms = INT64_MAX;
    const struct ack_pending *one;
    DL_FOREACH(a->list, one)
        due_ms = one->due_ms < due_ms ? one->due_ms : due_ms;
    return due_ms;
}

void acks_free(struct acks *a)
{
    struct ack_pending *one, *next;
    DL_FOREACH_SAFE(a->list, one, next)
        drop(a, one);
}
