#include "ingress/record_query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingress/ingress.h"
#include "ingress/key_index.h"

#define GET_WAIT_MS 3000
#define ANSWER_MAX_BYTES 320

struct question {
    struct ingress *ing;
    char id[TASK_ID_CHARS + 1];
    char reply[]; /* subject */
};

static void publish(struct ingress *ing, const char *reply, const char *text)
{
    wire_publish(ing->wire, reply, text, strlen(text));
}

static void publish_unknown(struct ingress *ing, const char *reply, const char *id, const char *why)
{
    char text[ANSWER_MAX_BYTES];
    snprintf(text, sizeof(text),
             "{\"error\":{\"code\":503,\"description\":\"%s\"},\"task\":\"%s\"}", why, id);
    publish(ing, reply, text);
}

static void on_record(void *arg, ax_err err, const struct record *r, uint64_t seq)
{
    struct question *q = arg;
    char text[ANSWER_MAX_BYTES];
    if (err == AX_OK) {
        snprintf(text, sizeof(text),
                 "{\"task\":\"%s\",\"state\":\"%s\",\"pool\":\"%s\",\"attempt\":%" PRIu32
                 ",\"fence\":%" PRIu64 ",\"finished_ns\":%" PRId64 ",\"seq\":%" PRIu64 "}",
                 q->id, r->state == RECORD_CANCELLED ? "cancelled" : "done", r->pool, r->attempt,
                 r->fence, r->finished_ns, seq);
        publish(q->ing, q->reply, text);
    } else if (err == AX_E_NOT_FOUND || (err == AX_E_PROTOCOL && seq != 0)) {
        if (err == AX_E_PROTOCOL)
            key_index_unreadable(q->ing->key_index, q->id);
        snprintf(text, sizeof(text), "{\"task\":\"%s\",\"state\":\"unknown\"}", q->id);
        publish(q->ing, q->reply, text);
    } else {
        publish_unknown(q->ing, q->reply, q->id, ax_err_text(err));
    }
    free(q);
}

static void on_question(void *arg, natsMsg *msg)
{
    struct ingress *ing = arg;
    const char *reply = replies_of(&ing->replies, msg),
               *id = natsMsg_GetSubject(msg) + strlen(RECORD_PREFIX);
    if (reply != NULL && name_is_task_id(id)) {
        struct question *q = NULL;
        if (strlen(id) != TASK_ID_CHARS)
            publish_unknown(ing, reply, id, "ingress does not follow tasks without a key");
        else if (!key_index_done_is_whole(ing->key_index))
            publish_unknown(ing, reply, id, "ingress is still reading the records");
        else if ((q = malloc(sizeof(*q) + strlen(reply) + 1)) != NULL) {
            q->ing = ing;
            strcpy(q->id, id);
            strcpy(q->reply, reply);
            if (key_index_find_record(ing->key_index, id, GET_WAIT_MS, on_record, q) != AX_OK)
                on_record(q, AX_E_BUSY, NULL, 0);
        }
    }
    natsMsg_Destroy(msg);
}

ax_err record_query_start(struct ingress *ing)
{
    return wire_subscribe(ing->wire, NULL, RECORD_PREFIX "*", INGRESS_QUEUE_GROUP, on_question,
                          ing);
}
