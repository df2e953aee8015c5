#include "cli/streams/stats_query.h"

#include <string.h>

#include "base/clock.h"
#include "bus/connect.h"
#include "task/inbox.h"

ax_err stats_query_ask(struct stats_query *q, natsConnection *nc, struct problem *p)
{
    return stats_query_ask_for(q, nc, "", p);
}

ax_err stats_query_ask_for(struct stats_query *q, natsConnection *nc, const char *body,
                           struct problem *p)
{
    char inbox[INBOX_MAX];
    q->answers = json_array();
    if (q->answers == NULL)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    natsStatus s = natsConnection_SubscribeSync(&q->sub, nc, inbox_new(inbox));
    if (s == NATS_OK)
        s = natsConnection_PublishRequestString(nc, STATS_SUBJECT, inbox, body);
    return s == NATS_OK
               ? AX_OK
               : problem_set(p, connect_error(s), "%s: %s", STATS_SUBJECT, natsStatus_GetText(s));
}

void stats_query_gather(struct stats_query *q, int64_t wait_ms,
                        bool (*enough)(void *arg, const json_t *answers), void *arg)
{
    int64_t until = clock_now_ms() + wait_ms, left;
    while (!enough(arg, q->answers) && (left = until - clock_now_ms()) > 0) {
        natsMsg *msg = NULL;
        natsStatus s = natsSubscription_NextMsg(&msg, q->sub, left);
        if (s != NATS_OK ||
            /* no responders is a message without a body, or a status */
            natsMsg_GetDataLength(msg) == 0) {
            natsMsg_Destroy(msg);
            return;
        }
        json_t *answer = json_loadb(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), 0,
                                    NULL);
        if (json_is_object(answer))
            json_array_append(q->answers, answer);
        json_decref(answer);
        natsMsg_Destroy(msg);
    }
}

void stats_query_free(struct stats_query *q)
{
    natsSubscription_Destroy(q->sub);
    json_decref(q->answers);
    *q = (struct stats_query){0};
}

static bool is_text(const json_t *o, const char *field, const char *value)
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
        if (is_text(a, "name", name) && ++parts >= json_integer_value(json_object_get(a, "parts")))
            return true;
    }
    return false;
}

int stats_query_count(const json_t *answers, const char *program)
{
    size_t i;
    json_t *a;
    int count = 0;
    json_array_foreach(answers, i, a) {
        count += is_text(a, "program", program) &&
                 json_integer_value(json_object_get(a, "part")) <= 1;
    }
    return count;
}

void stats_query_pool(const json_t *answers, const char *pool, struct stats_pool *out)
{
    size_t i, k;
    json_t *a, *o;
    stats_answer_read_pool(NULL, out);
    json_array_foreach(answers, i, a) {
        json_array_foreach(json_object_get(a, "pools"), k, o) {
            if (is_text(o, "pool", pool))
                stats_answer_read_pool(o, out);
        }
    }
}
