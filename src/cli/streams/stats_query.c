#include "cli/streams/stats_query.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/duration.h"
#include "bus/connect.h"
#include "cli/output.h"

#define ENOUGH_RUNS 20 /* below that a 99th percentile says nothing */

ax_err stats_query_ask(struct stats_query *t, natsConnection *nc, struct problem *p)
{
    natsInbox *inbox = NULL;
    t->answers = json_array();
    if (!t->answers)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    natsStatus s = natsInbox_Create(&inbox);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&t->sub, nc, inbox);
    if (s == NATS_OK)
        s = natsConnection_PublishRequestString(nc, STATS_SUBJECT, inbox, "");
    natsInbox_Destroy(inbox);
    return s == NATS_OK
               ? AX_OK
               : problem_set(p, connect_error(s), "%s: %s", STATS_SUBJECT, natsStatus_GetText(s));
}

void stats_query_gather(struct stats_query *t, int64_t wait_ms,
                        bool (*enough)(void *arg, const json_t *answers), void *arg)
{
    int64_t until = clock_now_ms() + wait_ms, left;
    while (!enough(arg, t->answers) && (left = until - clock_now_ms()) > 0) {
        natsMsg *msg = NULL;
        natsStatus s = natsSubscription_NextMsg(&msg, t->sub, left);
        if (s != NATS_OK ||
            /* no responders is a message without a body, or a status */
            natsMsg_GetDataLength(msg) == 0) {
            natsMsg_Destroy(msg);
            return;
        }
        json_t *answer = json_loadb(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), 0,
                                    NULL);
        if (json_is_object(answer))
            json_array_append(t->answers, answer);
        json_decref(answer);
        natsMsg_Destroy(msg);
    }
}

void stats_query_free(struct stats_query *t)
{
    natsSubscription_Destroy(t->sub);
    json_decref(t->answers);
    *t = (struct stats_query){0};
}

static bool is(const json_t *o, const char *field, const char *value)
{
    const char *found = json_string_value(json_object_get(o, field));
    return found && strcmp(found, value) == 0;
}

bool stats_query_by(const json_t *answers, const char *name)
{
    size_t i;
    json_t *a;
    int64_t parts = 0;
    json_array_foreach(answers, i, a) {
        if (is(a, "name", name) && ++parts >= json_integer_value(json_object_get(a, "parts")))
            return true;
    }
    return false;
}

int stats_query_count(const json_t *answers, const char *program)
{
    size_t i;
    json_t *a;
    int count = 0;
    json_array_foreach(answers, i, a)
        count += is(a, "program", program) && json_integer_value(json_object_get(a, "part")) <= 1;
    return count;
}

void stats_query_pool(const json_t *answers, const char *pool, struct stats_pool *out)
{
    size_t i, k;
    json_t *a, *o;
    stats_answer_read_pool(NULL, out);
    json_array_foreach(answers, i, a) {
        json_array_foreach(json_object_get(a, "pools"), k, o) {
            if (is(o, "pool", pool))
                stats_answer_read_pool(o, out);
        }
    }
}

/* Twice of it, rounded up to what one would write. */
static int64_t suggested_ms(double ms)
{
    double wanted = 2 * ms, step = wanted < 1000     ? 100
                                   : wanted < 10000  ? 1000
                                   : wanted < 120000 ? 5000
                                                     : 60000;
    return (int64_t)(ceil(wanted / step) * step);
}

bool stats_ack_wait_advice(const char *pool, const struct stats_pool *t, struct advice *out)
{
    char wait[32], p99[32], better[48];
    if (!t->answered || t->silence.count < ENOUGH_RUNS ||
        (double)t->ack_wait_ms >= 2 * t->silence.p99_ms)
        return false;
    snprintf(out->text, sizeof(out->text),
             "ack_wait %s is under twice the %s that the slowest 1%% of the attempts take without "
             "a word of their worker",
             output_seconds(t->ack_wait_ms * 1000000, wait),
             output_seconds((int64_t)(t->silence.p99_ms * 1e6), p99));
    snprintf(
        out->fix, sizeof(out->fix),
        "nats consumer edit AX_WORK %s --wait %s -f, or let workers say in-progress more often",
        pool, duration_format(suggested_ms(t->silence.p99_ms), better));
    return true;
}

bool stats_late_ack_advice(const char *pool, const struct stats_pool *t, struct advice *out)
{
    char wait[32], ago[32];
    if (!t->answered || t->five_minutes.late_acks == 0)
        return false;
    snprintf(out->text, sizeof(out->text),
             "living workers are declared dead: %" PRId64
             " of the attempts that timed out in the last %s were acked after all, "
             "ack_wait %s was too short for them",
             t->five_minutes.late_acks,
             output_seconds((int64_t)(t->five_minutes.seconds * 1e9), ago),
             output_seconds(t->ack_wait_ms * 1000000, wait));
    snprintf(out->fix, sizeof(out->fix),
             "nats consumer edit AX_WORK %s --wait DURATION -f, or let workers say in-progress",
             pool);
    return true;
}
