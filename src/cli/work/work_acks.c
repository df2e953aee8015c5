#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/work/work.h"

#define REPEAT_MS 2000
/* Longer than that, the lease has lapsed and the dispatcher has decided without us. */
#define GIVE_UP_MS 120000

static void publish(struct receipts *r, struct receipt *one)
{
    char reply[128];
    snprintf(reply, sizeof(reply), "%s.ack.%" PRIu64, r->inbox, one->number);
    natsConnection_PublishRequest(r->nc, one->subject, reply, one->payload,
                                  (int)strlen(one->payload));
    one->due_ms = clock_now_ms() + REPEAT_MS;
}

void receipts_send(struct receipts *r, const char *ack_subject, const char *payload)
{
    struct receipt *one = calloc(1, sizeof(*one));
    char *subject = strdup(ack_subject);
    if (!one || !subject) {
        free(one);
        free(subject);
        natsConnection_Publish(r->nc, ack_subject, payload, (int)strlen(payload));
        return;
    }
    one->subject = subject;
    snprintf(one->payload, sizeof(one->payload), "%s", payload);
    one->number = ++r->numbers;
    one->give_up_ms = clock_now_ms() + GIVE_UP_MS;
    one->next = r->first;
    r->first = one;
    r->count++;
    publish(r, one);
}

static void remove_one(struct receipts *r, struct receipt **at)
{
    struct receipt *one = *at;
    *at = one->next;
    free(one->subject);
    free(one);
    r->count--;
}

void receipts_confirmed(struct receipts *r, uint64_t number)
{
    for (struct receipt **at = &r->first; *at; at = &(*at)->next) {
        if ((*at)->number == number) {
            remove_one(r, at);
            return;
        }
    }
}

void receipts_repeat(struct receipts *r, bool all)
{
    int64_t now_ms = clock_now_ms();
    for (struct receipt **at = &r->first; *at;) {
        struct receipt *one = *at;
        if (one->give_up_ms <= now_ms) {
            log_warn("receipt never confirmed", "receipt=\"%.40s\" subject=%s", one->payload,
                     one->subject);
            remove_one(r, at);
            continue;
        }
        if (all || one->due_ms <= now_ms)
            publish(r, one);
        at = &one->next;
    }
}

int64_t receipts_due_ms(const struct receipts *r)
{
    int64_t due_ms = INT64_MAX;
    for (const struct receipt *one = r->first; one; one = one->next)
        due_ms = one->due_ms < due_ms ? one->due_ms : due_ms;
    return due_ms;
}

void receipts_free(struct receipts *r)
{
    while (r->first)
        remove_one(r, &r->first);
}
