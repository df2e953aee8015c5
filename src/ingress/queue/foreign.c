#include "ingress/queue/foreign.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/api.h"
#include "bus/pipeline_get.h"
#include "bus/stream_info.h"
#include "ingress/ingress.h"
#include "ingress/pools.h"
#include "ingress/queue/queue.h"
#include "task/task_dead.h"

/* Younger ones are left alone: their pool may just be given its entry. */
#define YOUNG_NS 10000000000LL
#define PAUSE_NS 10000000000LL /* between two looks at a queue, longer where it is long */
#define PAUSE_PER_MESSAGE_NS 1000000LL
#define FOUND_MAX 256 /* subjects of one look; the rest is found by the next one */
#define WAIT_MS 5000

/* One look at one queue. */
struct foreign {
    struct ingress *ing;
    struct queue *queue; /* NULL: no look is under way */
    size_t offset;       /* of the next page of subjects */
    json_t *found;       /* array of subjects that may be foreign (owned) */
    size_t next;         /* of them */
    uint64_t seq;        /* of the message that is being moved */
};

static void handle(struct foreign *f);

bool foreign_pool_of(const char *subject, char pool[NAME_MAX_CHARS + 1], bool *is_task)
{
    struct task_subject s = {0};
    *is_task = name_parse_task_subject(subject, &s) && strcmp(s.stage, "queue") == 0;
    pool[0] = '\0';
    const char *at = subject;
    for (int i = 0; i < 3 && at != NULL; i++) {
        at = strchr(at, '.');
        at = at != NULL ? at + 1 : NULL;
    }
    size_t bytes = at != NULL ? strcspn(at, ".") : 0;
    if (at == NULL || at[bytes] != '.' || !name_is_valid_n(at, bytes))
        return false;
    snprintf(pool, NAME_MAX_CHARS + 1, "%.*s", (int)bytes, at);
    return true;
}

static bool is_foreign(const struct foreign *f, const char *subject)
{
    char pool[NAME_MAX_CHARS + 1];
    bool is_task;
    return !foreign_pool_of(subject, pool, &is_task) || !pools_has(f->ing->pools, pool);
}

/* ---- the end */

static void end(struct foreign *f)
{
    json_decref(f->found);
    f->found = NULL;
    f->queue = NULL;
}

static void next(struct foreign *f)
{
    f->next++;
    handle(f);
}

/* ---- one message: the dead letter, then the message goes */

static void on_deleted(void *arg, const struct answer *a)
{
    struct foreign *f = arg;
    FAULT_IF(a->err == AX_OK, "foreign.delete.after");
    if (a->err == AX_OK)
        handle(f); /* there may be another one on this subject */
    else
        next(f);
}

static void on_buried(void *arg, const struct answer *a)
{
    struct foreign *f = arg;
    char what[128], body[64];
    FAULT_IF(a->err == AX_OK, "foreign.bury.after");
    if (a->err != AX_OK) {
        next(f); /* it stays, and is found again */
        return;
    }
    if (!a->duplicate)
        metric_add(f->ing->counters.foreign, 1);
    snprintf(what, sizeof(what), "$JS.API.STREAM.MSG.DELETE.%s", f->queue->p.stream);
    int n = snprintf(body, sizeof(body), "{\"seq\":%" PRIu64 ",\"no_erase\":true}", f->seq);
    if (pipeline_request(f->ing->pipe, what, body, (size_t)n, WAIT_MS, on_deleted, f) != AX_OK)
        end(f);
}

static void bury(struct foreign *f, const struct stored_msg *found, const char *why)
{
    static struct log_gate gate;
    char reply[PIPELINE_REPLY_MAX], reason[400], text[300];
    natsMsg *msg = NULL;
    const struct task_dead_source from = {.stream = f->queue->p.stream,
                                          .subject = found->subject,
                                          .seq = found->seq,
                                          .time_ns = found->time_ns,
                                          .msg = found->msg};
    log_limited(&gate, loop_now_ns(f->ing->loop), LOG_WARN,
                "queue message that no pool serves becomes a dead letter", "why=\"%s\" subject=%s",
                why, log_quote(found->subject, text, sizeof(text)));
    snprintf(reason, sizeof(reason), "%s: %.200s", why, found->subject);
    if (pipeline_reserve(f->ing->pipe, reply) != AX_OK) {
        end(f);
        return;
    }
    task_dead_of_stored(&from, reply, reason, clock_ax_ns(f->ing->clock),
                        wire_max_payload(f->ing->wire), &msg);
    f->seq = found->seq;
    FAULT("foreign.bury.before");
    /* msg NULL: out of memory, which pipeline_publish tells */
    if (pipeline_publish(f->ing->pipe, reply, msg, WAIT_MS, on_buried, f) != AX_OK)
        end(f);
}

/* True: the pool has an entry, or is being given one. */
static bool adopt(struct foreign *f, const char *pool)
{
    enum pools_claim claim = pools_claim(f->ing->pools, pool);
    if (claim != POOLS_CLAIMED)
        return claim != POOLS_STRICT && claim != POOLS_FULL;
    pools_add(f->ing->pools, pool);
    pools_release(f->ing->pools, pool);
    return true;
}

static void on_found(void *arg, ax_err err, const struct stored_msg *found)
{
    struct foreign *f = arg;
    char pool[NAME_MAX_CHARS + 1];
    bool is_task;
    if (f->ing->closing || (err != AX_OK && err != AX_E_NOT_FOUND)) {
        end(f);
        return;
    }
    if (err != AX_OK || clock_ax_ns(f->ing->clock) - found->time_ns < YOUNG_NS ||
        !is_foreign(f, found->subject)) {
        next(f);
        return;
    }
    foreign_pool_of(found->subject, pool, &is_task);
    if (!is_task)
        bury(f, found, "the subject is that of no task");
    else if (adopt(f, pool))
        next(f);
    else
        bury(f, found, "its pool is not known, and no further pool may be added");
}

static void handle(struct foreign *f)
{
    const char *subject = json_string_value(json_array_get(f->found, f->next));
    if (subject == NULL ||
        pipeline_get(f->ing->pipe, f->queue->p.stream, subject, 1, WAIT_MS, on_found, f) != AX_OK)
        end(f);
}

/* ---- which subjects there are */

static void list(struct foreign *f);

static void on_page(void *arg, const struct api_answer *a)
{
    struct foreign *f = arg;
    json_t *subjects = json_object_get(json_object_get(a->root, "state"), "subjects"), *count;
    const char *subject;
    if (a->err != AX_OK || f->ing->closing) {
        end(f);
        return;
    }
    json_object_foreach(subjects, subject, count) {
        if (json_array_size(f->found) < FOUND_MAX && is_foreign(f, subject))
            json_array_append_new(f->found, json_string(subject));
    }
    f->offset += json_object_size(subjects);
    bool more = json_object_size(subjects) > 0 && json_array_size(f->found) < FOUND_MAX &&
                f->offset < (size_t)api_integer(a->root, "total", 0);
    if (more)
        list(f);
    else
        handle(f);
}

static void list(struct foreign *f)
{
    char what[128], filter[SUBJECT_MAX_CHARS];
    snprintf(what, sizeof(what), "STREAM.INFO.%s", f->queue->p.stream);
    snprintf(filter, sizeof(filter), "ax.queue.%s.>", f->queue->p.name);
    json_t *payload = json_pack("{s:s,s:I}", "subjects_filter", filter, "offset",
                                (json_int_t)f->offset);
    if (payload == NULL ||
        api_ask(f->ing->pipe, f->ing->loop, what, payload, WAIT_MS, on_page, f) != AX_OK)
        end(f);
}

void foreign_look(struct queue *q, const struct stream_info *info)
{
    struct foreign *f = q->ing->foreign;
    int64_t now = loop_now_ns(q->ing->loop);
    if (f == NULL || f->queue != NULL || q->ing->closing || !pools_are_read(q->ing->pools) ||
        now < q->foreign_due_ns)
        return;
    if (info->messages == 0 || info->ts_ns - info->first_ns < YOUNG_NS)
        return;
    q->foreign_due_ns = now + PAUSE_NS + (int64_t)info->messages * PAUSE_PER_MESSAGE_NS;
    f->found = json_array();
    if (f->found == NULL)
        return;
    f->queue = q;
    f->offset = f->next = 0;
    list(f);
}

ax_err foreign_start(struct ingress *ing)
{
    ing->foreign = calloc(1, sizeof(*ing->foreign));
    if (ing->foreign == NULL)
        return AX_E_NOMEM;
    ing->foreign->ing = ing;
    return AX_OK;
}
