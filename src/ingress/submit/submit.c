#include "ingress/submit/submit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/text/rfc3339.h"
#include "ingress/key_index.h"
#include "ingress/pools.h"
#include "ingress/queue/queue.h"
#include "ingress/submit/batch.h"
#include "ingress/submit/cron.h"
#include "ingress/submit/submit_steps.h"
#include "task/task_proto.h"
#include "task/task_submit.h"

#define IN_FLIGHT_MAX_BYTES (256LL << 20) /* bodies in the works, whatever their number */
#define FREE_MAX 4096                     /* submissions kept for the next ones */
#define ROOM_FOR_OTHERS 1024 /* pipeline slots that submissions leave to feeders and readers */
#define DEFERRED_MS 20
#define AGAIN_MS 1000
#define BRIEF_MS 10
#define SWEEP_MS 1000
#define ANSWER_LIMIT_NS 30000000000LL
#define SCHEMA_BATCH "ax.v1.TaskBatch"

struct waiting {
    struct submit *head, *tail;
};

struct submits {
    struct ingress *ing;
    struct submit *head, *tail; /* in the works, oldest first */
    int in_flight, deferred_count;
    int64_t in_flight_bytes;
    struct submit *blank; /* free list, by deferred_next */
    int blanks;
    struct waiting deferred, again, brief;
    bool running_deferred;
    struct loop_timer deferred_timer, again_timer, brief_timer, sweep_timer;
};

/* ---- waiting */

static void push(struct waiting *q, struct submit *s)
{
    s->deferred_next = NULL;
    if (q->tail != NULL)
        q->tail->deferred_next = s;
    else
        q->head = s;
    q->tail = s;
}

static struct submit *pop(struct waiting *q)
{
    struct submit *s = q->head;
    if (s != NULL) {
        q->head = s->deferred_next;
        if (q->head == NULL)
            q->tail = NULL;
    }
    return s;
}

static void run_deferred(void *arg)
{
    struct submits *ss = arg;
    if (ss->running_deferred)
        return;
    ss->running_deferred = true;
    while (ss->deferred.head != NULL && pipeline_room(ss->ing->pipe) > ROOM_FOR_OTHERS) {
        struct submit *s = pop(&ss->deferred);
        ss->deferred_count--;
        s->step(s);
    }
    ss->running_deferred = false;
    if (ss->deferred.head != NULL && !loop_timer_is_running(&ss->deferred_timer))
        loop_timer_start(ss->ing->loop, &ss->deferred_timer, DEFERRED_MS, run_deferred, ss);
}

void submit_defer(struct submit *s)
{
    struct submits *ss = s->ing->submits;
    push(&ss->deferred, s);
    ss->deferred_count++;
    if (!loop_timer_is_running(&ss->deferred_timer))
        loop_timer_start(s->ing->loop, &ss->deferred_timer, DEFERRED_MS, run_deferred, ss);
}

/* Runs what waits now; what starts to wait meanwhile has its turn next time. */
static void run_all(struct submits *ss, struct waiting *list)
{
    struct waiting q = *list;
    struct submit *s;
    *list = (struct waiting){0};
    while ((s = pop(&q)) != NULL) {
        ss->deferred_count--;
        s->step(s);
    }
}

static void run_again(void *arg)
{
    struct submits *ss = arg;
    run_all(ss, &ss->again);
}

static void run_brief(void *arg)
{
    struct submits *ss = arg;
    run_all(ss, &ss->brief);
}

void submit_wait(struct submit *s)
{
    struct submits *ss = s->ing->submits;
    push(&ss->brief, s);
    ss->deferred_count++;
    if (!loop_timer_is_running(&ss->brief_timer))
        loop_timer_start(s->ing->loop, &ss->brief_timer, BRIEF_MS, run_brief, ss);
}

void submit_again(struct submit *s)
{
    struct submits *ss = s->ing->submits;
    push(&ss->again, s);
    ss->deferred_count++;
    if (!loop_timer_is_running(&ss->again_timer))
        loop_timer_start(s->ing->loop, &ss->again_timer, AGAIN_MS, run_again, ss);
}

void submits_retry(struct submits *ss)
{
    loop_timer_stop(ss->ing->loop, &ss->again_timer);
    run_again(ss);
}

bool submit_has_room(const struct submit *s)
{
    return pipeline_room(s->ing->pipe) > ROOM_FOR_OTHERS;
}

/* ---- birth and death */

struct submit *submit_new(struct ingress *ing)
{
    struct submits *ss = ing->submits;
    struct submit *s = ss->blank;
    if (s != NULL) {
        ss->blank = s->deferred_next;
        ss->blanks--;
        memset(s, 0, sizeof(*s));
    } else if ((s = calloc(1, sizeof(*s))) == NULL) {
        return NULL;
    }
    s->ing = ing;
    s->since_ns = loop_now_ns(ing->loop);
    s->prev = ss->tail;
    if (ss->tail != NULL)
        ss->tail->next = s;
    else
        ss->head = s;
    ss->tail = s;
    ss->in_flight++;
    return s;
}

void submit_ended(struct submit *s)
{
    struct submits *ss = s->ing->submits;
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        ss->head = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    else
        ss->tail = s->prev;
    ss->in_flight--;
    ss->in_flight_bytes -= s->bytes;
    task_clear(&s->task);
    task_proto_free(s->unpacked);
    if (s->batch != NULL)
        batch_release(s->batch);
    else
        natsMsg_Destroy(s->msg);
    free(s->reason);
    if (ss->blanks < FREE_MAX) {
        s->deferred_next = ss->blank;
        ss->blank = s;
        ss->blanks++;
    } else {
        free(s);
    }
    if (ss->deferred.head != NULL)
        run_deferred(ss);
}

static void answer(struct submit *s, const struct verdict *v)
{
    if (s->answered)
        return;
    s->answered = true;
    FAULT("submit.answer.before");
    if (s->batch != NULL)
        batch_answered(s->batch, s->index, v);
    else if (s->reply != NULL)
        answer_send(s->ing->wire, s->reply, v);
    FAULT_SENT("submit.answer.after", s->ing->wire);
}

void submit_taken(struct submit *s, const char *stream, uint64_t seq)
{
    struct verdict v;
    v.code = 0;
    v.retry_after_ms = 0;
    v.stream = stream;
    v.seq = seq;
    v.duplicate = false;
    v.task = s->task.id;
    v.state = state_text(s->due_ns != 0 ? STATE_LATER : STATE_QUEUED);
    if (stream == s->queue->p.stream)
        metric_add(s->queue->accepted, 1);
    answer(s, &v);
    submit_ended(s);
}

void submit_known(struct submit *s, const char *stream, uint64_t seq, enum state state)
{
    struct verdict v = {.stream = stream,
                        .seq = seq,
                        .duplicate = true,
                        .task = s->task.id,
                        .state = state_text(state)};
    metric_add(s->ing->counters.duplicates[state], 1);
    FAULT("submit.known");
    answer(s, &v);
    submit_ended(s);
}

void submit_reject(struct submit *s, enum refusal why, const struct verdict *v)
{
    if (why == REFUSAL_COUNT)
        metric_add(s->queue->busy, 1);
    else
        metric_add(s->ing->counters.refused[why], 1);
    if (s->reply != NULL) {
        answer(s, v);
        submit_ended(s);
        return;
    }
    char reason[480];
    snprintf(reason, sizeof(reason), "%s: %s", v->code == 400 ? "invalid" : "refused",
             v->description);
    free(s->reason);
    s->reason = strdup(reason);
    s->step = submit_step_bury;
    submit_step_bury(s);
}

void submit_refuse(struct submit *s, enum refusal why, const struct problem *p)
{
    struct verdict v;
    if (p->err == AX_E_NOMEM) {
        verdict_error(&v, 503, JSERR_STORE_FULL, AGAIN_MS,
                      "ingress is out of memory, retry in %dms", AGAIN_MS);
    } else
        verdict_error(&v, 400, JSERR_BAD_REQUEST, 0, "%s", p->text);
    submit_reject(s, why, &v);
}

void submit_refuse_unread(struct submit *s, const char *subject, const struct problem *p)
{
    struct problem ignored;
    /* the batch lives on; a single task has its message */
    const void *body = s->batch != NULL ? s->task.body : NULL;
    size_t bytes = s->batch != NULL ? s->task.body_bytes : 0;
    memset(&s->task, 0, sizeof(s->task));
    s->task.body = body;
    s->task.body_bytes = bytes;
    if (name_parse_submit(subject, s->task.priority, s->task.pool, &ignored) != AX_OK)
        s->task.priority[0] = s->task.pool[0] = '\0';
    submit_refuse(s, REFUSED_INVALID, p);
}

/* ---- checks that need to know the server's state */

static void refuse(struct submit *s, enum refusal why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void refuse(struct submit *s, enum refusal why, const char *format, ...)
{
    struct problem p = {.err = AX_E_INVALID};
    va_list args;
    va_start(args, format);
    vsnprintf(p.text, sizeof(p.text), format, args);
    va_end(args);
    submit_refuse(s, why, &p);
}

static bool refuse_cron(struct submit *s)
{
    struct problem p = {0};
    if (s->task.cron == NULL || cron_check(&s->task, &p) == AX_OK)
        return false;
    submit_refuse(s, REFUSED_CRON, &p);
    return true;
}

static bool refuse_pool(struct submit *s)
{
    struct ingress *ing = s->ing;
    if (pools_has(ing->pools, s->task.pool))
        return false;
    if (!ing->options->strict_pools) {
        pools_add(ing->pools, s->task.pool);
        return false;
    }
    if (!pools_are_read(ing->pools)) {
        s->step = submit_start;
        submit_wait(s);
        return true;
    }
    refuse(s, REFUSED_POOL, "pool: \"%s\" is not known; an operator adds one with: ax pool add %s",
           s->task.pool, s->task.pool);
    return true;
}

/* Delay, time and expiry in AX time. */
static bool refuse_time(struct submit *s)
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
        retry_ms = retry_ms < AGAIN_MS            ? AGAIN_MS
                   : retry_ms > DRAIN_HINT_MAX_MS ? DRAIN_HINT_MAX_MS
                                                  : retry_ms;
        verdict_error(&v, 503, JSERR_INSUFFICIENT_RESOURCES, retry_ms,
                      "clock: the server's clock was set back by %" PRId64
                      "ms; delayed tasks are refused until it has "
                      "caught up, retry in %" PRId64 "ms",
                      behind / 1000000, retry_ms);
        submit_reject(s, REFUSED_CLOCK, &v);
        return true;
    }
    if (t->expires_in_ms > 0)
        t->expires_ns = now + t->expires_in_ms * 1000000;
    int64_t due = t->at_ns > 0 ? t->at_ns : t->delay_ms > 0 ? now + t->delay_ms * 1000000 : 0;
    s->due_ns = t->cron != NULL ? INT64_MAX : due > now ? due : 0;
    if (t->expires_ns > 0 && t->expires_ns <= (s->due_ns > 0 ? s->due_ns : now)) {
        char expires[32], start[32];
        refuse(s, REFUSED_EXPIRED,
               "Ax-Expires: %s is not after %s, when the task could start at the earliest",
               rfc3339_format(t->expires_ns, expires),
               rfc3339_format(s->due_ns > 0 ? s->due_ns : now, start));
        return true;
    }
    if (s->due_ns != 0 && later_is_full(&ing->later)) {
        verdict_error(&v, 503, JSERR_STORE_FULL, AGAIN_MS,
                      "AX_LATER is full (%" PRId64 " tasks), retry in %dms", ing->later.max,
                      AGAIN_MS);
        submit_reject(s, REFUSED_LATER_FULL, &v);
        return true;
    }
    return false;
}

void submit_start(struct submit *s)
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
        submit_refuse(s, REFUSED_SIZE, &p);
        return;
    }
    if (refuse_cron(s) || refuse_time(s) || refuse_pool(s))
        return;
    metric_add(s->queue->submitted, 1);
    t->attempt = 1;
    t->timeouts = 0;
    t->submitted = clock_stamp(ing->clock);
    s->places = t->key != NULL ? key_index_maybe(ing->key_index, t->id) : 0;
    s->step = t->cron != NULL ? cron_step_look : submit_step_look;
    s->step(s);
}

/* ---- messages */

static void answer_error(struct ingress *ing, natsMsg *msg, const struct verdict *v,
                         enum refusal why)
{
    metric_add(ing->counters.refused[why], 1);
    answer_send(ing->wire, natsMsg_GetReply(msg), v);
    natsMsg_Destroy(msg);
}

static void refuse_no_memory(struct ingress *ing, natsMsg *msg)
{
    struct verdict v;
    log_error("out of memory, submission refused", "subject=%s", natsMsg_GetSubject(msg));
    if (natsMsg_GetReply(msg) == NULL) {
        natsMsg_Destroy(msg);
        return;
    }
    verdict_error(&v, 503, JSERR_STORE_FULL, AGAIN_MS, "ingress is out of memory, retry in %dms",
                  AGAIN_MS);
    answer_error(ing, msg, &v, REFUSED_BUSY);
}

/* True: msg was a batch and is taken. */
static bool take_batch(struct ingress *ing, natsMsg *msg, const char *schema, struct problem *p)
{
    if (schema == NULL || strcmp(schema, SCHEMA_BATCH) != 0)
        return false;
    return batch_take(ing, msg, p) == AX_OK;
}

static ax_err read_task(struct submit *s, const char *schema, struct problem *p)
{
    if (schema == NULL)
        return task_submit_read(&s->task, s->msg, p);
    if (strcmp(schema, SCHEMA_BATCH) == 0)
        return p->err; /* a batch that could not be read */
    return task_proto_read(&s->task, natsMsg_GetSubject(s->msg), natsMsg_GetData(s->msg),
                           (size_t)natsMsg_GetDataLength(s->msg), &s->unpacked, p);
}

void submit_take(struct ingress *ing, natsMsg *msg)
{
    struct problem p = {0};
    struct verdict v;
    const char *reply = natsMsg_GetReply(msg), *schema = NULL;
    if (reply != NULL && ((int64_t)ing->submits->in_flight >= ing->options->inflight ||
                          ing->submits->in_flight_bytes >= IN_FLIGHT_MAX_BYTES)) {
        verdict_error(&v, 503, JSERR_STORE_FULL, 100, "ingress is busy, retry in 100ms");
        answer_error(ing, msg, &v, REFUSED_BUSY);
        return;
    }
    natsStatus st = natsMsgHeader_Get(msg, HDR_SCHEMA, &schema);
    if (st == NATS_NO_MEMORY) {
        refuse_no_memory(ing, msg);
        return;
    }
    if (st != NATS_OK)
        schema = NULL;
    ax_err err = schema != NULL ? task_submit_check_proto(msg, &p) : AX_OK;
    if (err == AX_OK && take_batch(ing, msg, schema, &p))
        return;
    struct submit *s = submit_new(ing);
    if (s == NULL) {
        refuse_no_memory(ing, msg);
        return;
    }
    s->msg = msg;
    s->bytes = natsMsg_GetDataLength(msg);
    ing->submits->in_flight_bytes += s->bytes;
    s->reply = reply;
    if (err == AX_OK)
        err = read_task(s, schema, &p);
    if (err == AX_OK) {
        submit_start(s);
        return;
    }
    submit_refuse_unread(s, natsMsg_GetSubject(msg), &p);
}

/* Producers that have waited for too long hear that the outcome is unknown; the work goes on. */
static void sweep(void *arg)
{
    struct submits *ss = arg;
    int64_t limit = loop_now_ns(ss->ing->loop) - ANSWER_LIMIT_NS;
    for (struct submit *s = ss->head, *next; s != NULL && s->since_ns < limit; s = next) {
        next = s->next;
        if (s->answered || s->reply == NULL)
            continue;
        struct verdict v;
        verdict_error(
            &v, 503, JSERR_JS_UNAVAILABLE, AGAIN_MS,
            s->task.key != NULL
                ? "unknown: JetStream does not answer; retry with the same key"
                : "unknown: JetStream does not answer; without a key a retry may run it twice");
        metric_add(ss->ing->counters.unknown, 1);
        answer(s, &v);
    }
    metric_set(ss->ing->counters.in_flight, ss->in_flight);
    metric_set(ss->ing->counters.deferred, ss->deferred_count);
    loop_timer_start(ss->ing->loop, &ss->sweep_timer, SWEEP_MS, sweep, ss);
}

int submits_in_flight(const struct submits *ss)
{
    return ss->in_flight;
}

ax_err submits_new(struct submits **out, struct ingress *ing)
{
    struct submits *ss = calloc(1, sizeof(*ss));
    if (ss == NULL)
        return AX_E_NOMEM;
    ss->ing = ing;
    *out = ss;
    loop_timer_start(ing->loop, &ss->sweep_timer, SWEEP_MS, sweep, ss);
    return AX_OK;
}
