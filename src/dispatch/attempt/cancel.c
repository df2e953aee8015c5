/* Cancelling a task on request (ax.cancel.<pool>.<id>): wherever it waits it is removed, a running
 * attempt is revoked and has no next one. The key is free again.
 *
 * A task can move while it is looked for (a schedule fires, a feeder feeds). It is stored in the
 * next place before it leaves the last, so the search goes along its way, AX_LATER, spill, queues,
 * and at last to what dispatch itself has got; it goes round until one whole round finds nothing,
 * and only then is the answer given. The record is written before anything is removed: a dispatcher
 * that dies in between, and the one that is asked next, leave no task of which nobody knows. An
 * unanswered request may be repeated. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/cancel.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "done/record_find.h"
#include "task/inbox.h"

#define WAIT_MS 3000
#define AGAIN_MS 50
#define CHANGED_HANDS "the pool has changed hands, try again"
#define ROUNDS_MAX 100 /* of AGAIN_MS: a step of dispatch's own is waited for */

struct cancel {
    struct pool *pool;
    char id[TASK_ID_CHARS + 1];
    char reply[INBOX_REPLY_MAX_CHARS + 1]; /* "": nobody asks */
    const char *was;                       /* where it was found; NULL: nowhere yet */
    int place;                             /* next place of this round */
    int rounds;
    bool found; /* in this round */
    bool came;  /* dispatch got it in this round, and may have ended that attempt already */
    bool noted; /* its record says that it is cancelled */
    int64_t recorded_ns; /* AX time: the record that says so already; 0: none does */
    struct cancel *next;
    uint32_t attempt;
    uint64_t fence;
    struct loop_timer timer;
};

static void look_next(struct cancel *c);
static void new_round(void *arg);

static void finish(struct cancel *c, const char *state, const char *error)
{
    static struct log_gate gate;
    char text[320];
    int n;
    if (error != NULL) {
        n = snprintf(text, sizeof(text),
                     "{\"error\":{\"code\":503,\"description\":\"%s\"},\"task\":\"%s\"}", error,
                     c->id);
    } else if (c->was != NULL) {
        n = snprintf(text, sizeof(text), "{\"task\":\"%s\",\"state\":\"%s\",\"was\":\"%s\"}", c->id,
                     state, c->was);
    } else
        n = snprintf(text, sizeof(text), "{\"task\":\"%s\",\"state\":\"%s\"}", c->id, state);
    FAULT("cancel.answer.before");
    if (c->reply[0] != '\0')
        wire_publish(c->pool->dispatch->wire, c->reply, text, (size_t)n);
    FAULT_SENT("cancel.answer.after", c->pool->dispatch->wire);
    log_limited(&gate, loop_now_ns(c->pool->dispatch->loop), LOG_INFO, "cancel",
                "task=%s pool=%s state=%s", c->id, c->pool->name, error != NULL ? "error" : state);
    loop_timer_stop(c->pool->dispatch->loop, &c->timer);
    struct cancel **at = &c->pool->cancels;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
}

static void again(struct cancel *c)
{
    if (!c->pool->lead.ready)
        finish(c, NULL, CHANGED_HANDS);
    else if (++c->rounds > ROUNDS_MAX)
        finish(c, NULL, "the task is between two states, try again");
    else
        loop_timer_start(c->pool->dispatch->loop, &c->timer, AGAIN_MS, new_round, c);
}

/* ---- its record ---- */

static bool find_record(struct cancel *c, record_find_cb cb)
{
    struct dispatch *d = c->pool->dispatch;
    const struct batch_index *batches = name_is_keyed(c->id) ? d->done.batches : d->done.recent;
    return record_find(d->pipeline, batches, c->id, WAIT_MS, cb, c) == AX_OK;
}

/* What a record says of a task of this pool; 0: nothing, and err is AX_E_NOT_FOUND. Who may cancel
 * in this pool learns nothing of a task of another one. */
static enum record_state said(struct cancel *c, ax_err *err, const struct record *rec, uint64_t seq)
{
    struct dispatch *d = c->pool->dispatch;
    if (*err == AX_E_PROTOCOL && seq != 0) {
        done_view_unreadable(&d->done, c->id, loop_now_ns(d->loop));
        *err = AX_E_NOT_FOUND;
    }
    if (*err == AX_OK && strcmp(rec->pool, c->pool->name) != 0)
        *err = AX_E_NOT_FOUND;
    return *err == AX_OK ? rec->state : (enum record_state)0;
}

static void go_on(struct cancel *c)
{
    c->noted = true;
    if (!c->pool->lead.ready)
        finish(c, NULL, CHANGED_HANDS);
    else if (c->place == 0)
        new_round(c); /* the attempt may have gone on meanwhile */
    else
        look_next(c); /* the same place again: it may have moved */
}

static void on_noted(void *arg, const struct answer *a)
{
    struct cancel *c = arg;
    FAULT("cancel.record.after");
    if (a->err != AX_OK)
        finish(c, NULL, "its record was refused, try again");
    else
        go_on(c);
}

/* What a worker has finished is not cancelled any more. */
static void on_former(void *arg, ax_err err, const struct record *rec, uint64_t seq)
{
    struct cancel *c = arg;
    enum record_state state = said(c, &err, rec, seq);
    if (err != AX_OK && err != AX_E_NOT_FOUND) {
        finish(c, NULL, "JetStream did not answer");
    } else if (state == RECORD_DONE) {
        c->was = NULL;
        finish(c, "done", NULL);
    } else {
        FAULT("cancel.record.before");
        err = record_writer_write(
            c->pool, c->id,
            &(struct record){.state = RECORD_CANCELLED, .attempt = c->attempt, .fence = c->fence},
            on_noted, c);
        if (err != AX_OK)
            finish(c, NULL, ax_err_text(err));
    }
}

/* It is there, and about to be removed: first its record says so. Goes on where it was. */
static void note(struct cancel *c)
{
    if (!find_record(c, on_former))
        finish(c, NULL, "JetStream did not answer");
}

/* ---- nothing there any more: what had become of it ---- */

/* The newest word counts: a task whose cancelling was given up may have failed since. */
static void on_dead(void *arg, ax_err err, const struct stored_msg *found)
{
    struct cancel *c = arg;
    if (err == AX_OK && found->time_ns > c->recorded_ns)
        finish(c, "dead", NULL);
    else if (err == AX_OK || err == AX_E_NOT_FOUND)
        finish(c, c->recorded_ns != 0 ? "cancelled" : "unknown", NULL);
    else
        finish(c, NULL, "JetStream did not answer");
}

static void on_record(void *arg, ax_err err, const struct record *rec, uint64_t seq)
{
    struct cancel *c = arg;
    char subject[SUBJECT_MAX_CHARS];
    enum record_state state = said(c, &err, rec, seq);
    if (state == RECORD_DONE) {
        finish(c, "done", NULL);
        return;
    }
    if (state == RECORD_CANCELLED)
        c->recorded_ns = rec->finished_ns;
    if (c->noted && (err == AX_OK || err == AX_E_NOT_FOUND)) {
        metric_add(c->pool->stats.m_cancelled, 1);
        finish(c, "cancelled", NULL);
        return;
    }
    name_subject_dead(subject, c->pool->name, c->id);
    if ((err != AX_OK && err != AX_E_NOT_FOUND) ||
        pipeline_get(c->pool->dispatch->pipeline, STREAM_DEAD, subject, 0, WAIT_MS, on_dead, c) !=
            AX_OK)
        finish(c, NULL, "JetStream did not answer");
}

static void conclude(struct cancel *c)
{
    if (!c->pool->lead.ready) {
        finish(c, NULL, CHANGED_HANDS);
        return;
    }
    if (c->noted)
        acks_forget_task(c->pool, c->id);
    if (!find_record(c, on_record))
        finish(c, NULL, "JetStream did not answer");
}

/* ---- the places where it may wait: AX_LATER, AX_SPILL, then the queues ---- */

static const struct {
    const char *stream, *stage, *was;
} others[] = {{STREAM_LATER, "later", "later"},
              {STREAM_LATER, "due", "later"},
              {STREAM_SPILL, "spill", "spilled"}};
#define OTHERS ((int)(sizeof(others) / sizeof(others[0])))

static void on_deleted(void *arg, const struct answer *a)
{
    (void)a; /* the next round sees whether it is gone */
    FAULT("cancel.delete.after");
    look_next(arg);
}

static void on_found(void *arg, ax_err err, const struct stored_msg *found)
{
    struct cancel *c = arg;
    struct pool *p = c->pool;
    int i = c->place;
    bool in_queue = i >= OTHERS;
    const char *stream = in_queue ? p->queues[i - OTHERS]->stream : others[i].stream;
    const char *cron = NULL;
    char api[128], body[64];
    if (err == AX_E_NOT_FOUND) {
        c->place++;
        look_next(c);
        return;
    }
    if (err != AX_OK || !p->lead.ready) {
        finish(c, NULL, err != AX_OK ? "JetStream did not answer" : CHANGED_HANDS);
        return;
    }
    if (!in_queue && natsMsgHeader_Get(found->msg, HDR_CRON, &cron) == NATS_OK) {
        finish(c, NULL, "a recurring task: remove it with ax cron rm");
        return;
    }
    c->found = true;
    c->was = in_queue ? "queued" : others[i].was;
    if (!c->noted) {
        note(c);
        return;
    }
    c->place++;
    snprintf(api, sizeof(api), "$JS.API.STREAM.MSG.DELETE.%s", stream);
    int n = snprintf(body, sizeof(body), "{\"seq\":%" PRIu64 ",\"no_erase\":true}", found->seq);
    FAULT("cancel.delete.before");
    if (pipeline_request(p->dispatch->pipeline, api, body, (size_t)n, WAIT_MS, on_deleted, c) !=
        AX_OK)
        finish(c, NULL, "JetStream did not answer");
}

static void look_next(struct cancel *c)
{
    struct pool *p = c->pool;
    char subject[SUBJECT_MAX_CHARS];
    const char *stream;
    if (!p->lead.ready) {
        finish(c, NULL, CHANGED_HANDS);
        return;
    }
    if (c->place >= p->queue_count + OTHERS) {
        if (c->found || c->came || attempt_of_task(p, c->id) != NULL)
            again(c);
        else
            conclude(c);
        return;
    }
    if (c->place >= OTHERS) {
        struct queue *q = p->queues[c->place - OTHERS];
        stream = q->stream;
        name_subject(subject, "queue", q->priority, p->name, c->id);
    } else {
        stream = others[c->place].stream;
        snprintf(subject, sizeof(subject), "ax.%s.*.%s.%s", others[c->place].stage, p->name, c->id);
    }
    if (pipeline_get(p->dispatch->pipeline, stream, subject, 0, WAIT_MS, on_found, c) != AX_OK)
        finish(c, NULL, "JetStream did not answer");
}

/* ---- an attempt that we hold ---- */

static void on_attempt_ended(void *arg, bool gone, bool done)
{
    struct cancel *c = arg;
    if (done)
        finish(c, "done", NULL);
    else if (gone)
        again(c);
    else
        finish(c, NULL, "JetStream did not answer");
}

static void new_round(void *arg)
{
    struct cancel *c = arg;
    struct attempt *a = attempt_of_task(c->pool, c->id);
    if (a != NULL && attempt_may(a, ATTEMPT_ON_CANCEL)) {
        c->was = a->hand_off.seq != 0 ? "running" : "queued";
        c->attempt = a->task.attempt;
        c->fence = a->hand_off.seq;
        if (!c->noted) {
            c->place = 0;
            note(c);
            return;
        }
        attempt_on(a, ATTEMPT_ON_CANCEL,
                   &(struct attempt_news){.end = END_CANCELLED,
                                          .delay_ms = -1,
                                          .cancelled = on_attempt_ended,
                                          .cancel_arg = c});
    } else if (a != NULL) {
        again(c); /* a step is under way */
    } else {
        c->place = 0;
        c->found = c->came = false;
        look_next(c);
    }
}

void cancel_saw(struct pool *p, const char *id)
{
    for (struct cancel *c = p->cancels; c != NULL; c = c->next) {
        if (strcmp(c->id, id) == 0)
            c->came = true;
    }
}

void cancel_start(struct pool *p, const char *id, const char *reply)
{
    struct cancel *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return; /* unanswered: the caller asks again */
    c->pool = p;
    c->next = p->cancels;
    p->cancels = c;
    snprintf(c->id, sizeof(c->id), "%s", id);
    snprintf(c->reply, sizeof(c->reply), "%s", reply != NULL ? reply : "");
    new_round(c);
}
