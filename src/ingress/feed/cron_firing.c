/* One task of each firing, and none while the last one is unfinished. What the last one was stands
 * in a record of the bucket AX_DONE, written by compare-and-set, so that instances agree. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "done/record.h"
#include "ingress/feed/cron_firing.h"
#include "ingress/ingress.h"
#include "ingress/queue/queue.h"
#include "task/header.h"

#define ASK_WAIT_MS 5000
#define ROUNDS_MAX 10

/* Where an unfinished task may be. A task moves from the due message into the queue, from there to
 * AX_LATER for a retry and back; it is written to the next place before it leaves the last, so
 * looking along its way, and at the queue once more, finds it. */
enum { DUE, SPILL, QUEUE, LATER, QUEUE_AGAIN, PLACES };

static void ask_record(struct firing *f);
static void ask_place(struct firing *f);

void cron_firing_init(struct firing *f, struct ingress *ing, const struct task *t, natsMsg *due,
                      uint64_t seq, int64_t time_ns)
{
    *f = (struct firing){
        .ing = ing, .seq = seq, .time_ns = time_ns, .claimed = t->overlap == TASK_OVERLAP_QUEUE};
    memcpy(f->schedule, t->id, sizeof(f->schedule));
    memcpy(f->pool, t->pool, sizeof(f->pool));
    memcpy(f->priority, t->priority, sizeof(f->priority));
    cron_firing_id(t->id, t->submitted, due, seq, time_ns, f->id);
    cron_firing_key(t->key, time_ns, f->key);
}

void cron_to_task(const struct firing *f, struct task *t)
{
    memcpy(t->id, f->id, sizeof(t->id));
    t->key = f->key;
    t->submitted = f->time_ns;
    t->attempt = 1;
    t->timeouts = 0;
    t->cron = t->time_zone = NULL;
    t->overlap = TASK_OVERLAP_DEFAULT;
}

static void say(struct firing *f, enum cron_word word)
{
    f->claimed = word == CRON_GO;
    f->cb(f->arg, word);
}

static void on_claimed(void *arg, const struct answer *a)
{
    static struct log_gate gate;
    struct firing *f = arg;
    unsigned long more;
    FAULT("firing.record.after");
    if (a->err == AX_OK) {
        say(f, CRON_GO);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ &&
               ++f->rounds < ROUNDS_MAX) {
        ask_record(f);
    } else {
        char text[256];
        if (log_gate_open(&gate, loop_now_ns(f->ing->loop), 1000000000LL, &more)) {
            log_warn("record of a firing is not taken, trying again",
                     "schedule=%s error=%s more=%lu", f->schedule,
                     log_quote(a->err == AX_E_SERVER ? a->description : ax_err_text(a->err), text,
                               sizeof(text)),
                     more);
        }
        say(f, CRON_LATER);
    }
}

static void claim(struct firing *f)
{
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS], expected[24];
    uint8_t data[RECORD_MAX_BYTES];
    struct record r = {
        .state = RECORD_FIRED, .attempt = 1, .fence = f->seq, .finished_ns = f->time_ns};
    natsMsg *msg = NULL;
    if (pipeline_reserve(f->ing->pipe, reply) != AX_OK) {
        say(f, CRON_LATER);
        return;
    }
    memcpy(r.pool, f->pool, sizeof(r.pool));
    memcpy(r.priority, f->priority, sizeof(r.priority));
    memcpy(r.task, f->id, sizeof(r.task));
    record_subject_fired(subject, f->schedule);
    snprintf(expected, sizeof(expected), "%" PRIu64, f->record_seq);
    int bytes = (int)record_pack(&r, data, sizeof(data));
    natsStatus st = natsMsg_Create(&msg, subject, reply, (const char *)data, bytes);
    if (st == NATS_OK)
        st = header_set(msg, HDR_EXPECT_SUBJECT_SEQ, expected);
    if (st != NATS_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT("firing.record.before");
    if (pipeline_publish(f->ing->pipe, reply, msg, 0, on_claimed, f) != AX_OK)
        say(f, CRON_LATER);
}

static void on_place(void *arg, ax_err err, const struct stored_msg *found)
{
    struct firing *f = arg;
    (void)found;
    if (err == AX_OK)
        say(f, CRON_SKIP);
    else if (err != AX_E_NOT_FOUND)
        say(f, CRON_LATER);
    else if (++f->place < PLACES)
        ask_place(f);
    else
        claim(f);
}

/* The due message of the last firing: still being fed when it is there, and not another one of a
 * recreated stream. */
static void on_due(void *arg, ax_err err, const struct stored_msg *found)
{
    struct firing *f = arg;
    struct task_subject s;
    bool its = err == AX_OK && name_parse_task_subject(found->subject, &s) &&
               strcmp(s.stage, "due") == 0 && strcmp(s.id, f->schedule) == 0 &&
               found->seq != f->seq;
    on_place(f, err == AX_OK && !its ? AX_E_NOT_FOUND : err, found);
}

static void ask_place(struct firing *f)
{
    struct pipeline *pipe = f->ing->pipe;
    struct queue *queue = queue_find(f->ing, f->last_priority);
    char subject[SUBJECT_MAX_CHARS];
    ax_err err;
    if (queue == NULL && (f->place == QUEUE || f->place == QUEUE_AGAIN)) {
        on_place(f, AX_E_NOT_FOUND, NULL); /* that priority is gone, and its tasks with it */
        return;
    }
    if (f->place == DUE) {
        err = pipeline_get(pipe, STREAM_LATER, NULL, f->last_seq, ASK_WAIT_MS, on_due, f);
    } else if (f->place == LATER) {
        snprintf(subject, sizeof(subject), "ax.*.%s.%s.%s", f->last_priority, f->pool, f->last);
        err = pipeline_get(pipe, STREAM_LATER, subject, 0, ASK_WAIT_MS, on_place, f);
    } else {
        name_subject(subject, f->place == SPILL ? "spill" : "queue", f->last_priority, f->pool,
                     f->last);
        err = pipeline_get(pipe, f->place == SPILL ? STREAM_SPILL : queue->p.stream, subject, 0,
                           ASK_WAIT_MS, on_place, f);
    }
    if (err != AX_OK)
        say(f, CRON_LATER);
}

static void on_record(void *arg, ax_err err, const struct stored_msg *found)
{
    struct firing *f = arg;
    struct record r = {0};
    if (err != AX_OK && err != AX_E_NOT_FOUND) {
        say(f, CRON_LATER);
        return;
    }
    f->record_seq = err == AX_OK ? found->seq : 0;
    if (err == AX_OK) {
        err = record_unpack(&r, natsMsg_GetData(found->msg),
                            (size_t)natsMsg_GetDataLength(found->msg));
    }
    if (err == AX_E_NOMEM) {
        say(f, CRON_LATER);
    } else if (err != AX_OK || r.state != RECORD_FIRED) {
        claim(f); /* none, or one that was deleted or written by hand */
    } else if (strcmp(r.task, f->id) == 0) {
        say(f, CRON_GO); /* claimed before, and not heard of since */
    } else if (r.finished_ns > f->time_ns) {
        say(f, CRON_SKIP); /* a later firing went already */
    } else {
        memcpy(f->last, r.task, sizeof(f->last));
        memcpy(f->last_priority, r.priority, sizeof(f->last_priority));
        f->last_seq = r.fence;
        f->place = DUE;
        ask_place(f);
    }
}

static void ask_record(struct firing *f)
{
    char subject[SUBJECT_MAX_CHARS];
    record_subject_fired(subject, f->schedule);
    if (pipeline_get(f->ing->pipe, STREAM_DONE, subject, 0, ASK_WAIT_MS, on_record, f) != AX_OK)
        say(f, CRON_LATER);
}

bool cron_claim(struct firing *f, void (*cb)(void *arg, enum cron_word word), void *arg)
{
    if (pipeline_room(f->ing->pipe) <= 0)
        return false;
    char subject[SUBJECT_MAX_CHARS];
    f->cb = cb;
    f->arg = arg;
    f->rounds = 0;
    record_subject_fired(subject, f->schedule);
    return pipeline_get(f->ing->pipe, STREAM_DONE, subject, 0, ASK_WAIT_MS, on_record, f) == AX_OK;
}
