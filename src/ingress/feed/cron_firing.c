#include "ingress/feed/cron_firing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "done/record.h"
#include "ingress/ingress.h"
#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "task/header.h"

#define ASK_WAIT_MS 5000

static void happened(struct firing *f, enum firing_event event);

void cron_firing_init(struct firing *f, struct ingress *ing, const struct task *t, natsMsg *due,
                      uint64_t seq, int64_t time_ns)
{
    *f = (struct firing){.ing = ing, .seq = seq, .time_ns = time_ns};
    memcpy(f->schedule, t->id, sizeof(f->schedule));
    memcpy(f->pool, t->pool, sizeof(f->pool));
    memcpy(f->priority, t->priority, sizeof(f->priority));
    cron_firing_id(t->id, t->submitted, due, seq, time_ns, f->id);
    cron_firing_key(t->key, time_ns, f->key);
}

void cron_firing_to_task(const struct firing *f, struct task *t)
{
    memcpy(t->id, f->id, sizeof(t->id));
    t->key = f->key;
    t->submitted = f->time_ns;
    t->attempt = 1;
    t->timeouts = t->given_back = 0;
    t->cron = t->time_zone = NULL;
    t->overlap = TASK_OVERLAP_DEFAULT;
}

/* ---- the record of the last firing */

static void on_written(void *arg, const struct answer *a)
{
    static struct log_gate gate;
    struct firing *f = arg;
    unsigned long more;
    FAULT("firing.record.after");
    if (a->err == AX_OK) {
        happened(f, FIRING_WRITTEN);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ) {
        happened(f, FIRING_CHANGED);
    } else {
        char text[256];
        if (log_gate_open(&gate, loop_now_ns(f->ing->loop), 1000000000LL, &more)) {
            log_warn("record of a firing is not taken, trying again",
                     "schedule=%s error=%s more=%lu", f->schedule,
                     log_quote(a->err == AX_E_SERVER ? a->description : ax_err_text(a->err), text,
                               sizeof(text)),
                     more);
        }
        happened(f, FIRING_NO_ANSWER);
    }
}

static bool write_record(struct firing *f)
{
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS], expected[24];
    uint8_t data[RECORD_MAX_BYTES];
    struct record r = {
        .state = RECORD_FIRED, .attempt = 1, .fence = f->seq, .finished_ns = f->time_ns};
    natsMsg *msg = NULL;
    if (pipeline_reserve(f->ing->pipe, reply) != AX_OK)
        return false;
    memcpy(r.pool, f->pool, sizeof(r.pool));
    memcpy(r.priority, f->priority, sizeof(r.priority));
    memcpy(r.task, f->id, sizeof(r.task));
    record_subject_fired(subject, f->schedule);
    snprintf(expected, sizeof(expected), "%" PRIu64, f->claim.record_seq);
    int bytes = (int)record_pack(&r, data, sizeof(data));
    natsStatus st = natsMsg_Create(&msg, subject, reply, (const char *)data, bytes);
    if (st == NATS_OK)
        st = header_set(msg, HDR_EXPECT_SUBJECT_SEQ, expected);
    if (st != NATS_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT("firing.record.before");
    return pipeline_publish(f->ing->pipe, reply, msg, 0, on_written, f) == AX_OK;
}

/* Whose it is. */
static enum firing_event judge(struct firing *f, const struct record *r)
{
    if (strcmp(r->task, f->id) == 0)
        return FIRING_OWN;
    if (r->finished_ns > f->time_ns)
        return FIRING_NEWER;
    memcpy(f->claim.task, r->task, sizeof(f->claim.task));
    memcpy(f->claim.priority, r->priority, sizeof(f->claim.priority));
    f->claim.seq = r->fence;
    return FIRING_LAST;
}

static void on_record(void *arg, ax_err err, const struct stored_msg *found)
{
    struct firing *f = arg;
    struct record r = {0};
    if (err != AX_OK && err != AX_E_NOT_FOUND) {
        happened(f, FIRING_NO_ANSWER);
        return;
    }
    f->claim.record_seq = err == AX_OK ? found->seq : 0;
    if (err == AX_OK) {
        err = record_unpack(&r, natsMsg_GetData(found->msg),
                            (size_t)natsMsg_GetDataLength(found->msg));
    }
    if (err == AX_E_PROTOCOL)
        key_index_unreadable(f->ing->key_index, found->subject);
    if (err == AX_E_NOMEM)
        happened(f, FIRING_NO_ANSWER);
    else
        happened(f, err != AX_OK || r.state != RECORD_FIRED ? FIRING_NO_RECORD : judge(f, &r));
}

static bool read_record(struct firing *f)
{
    char subject[SUBJECT_MAX_CHARS];
    record_subject_fired(subject, f->schedule);
    return pipeline_get(f->ing->pipe, STREAM_DONE, subject, 0, ASK_WAIT_MS, on_record, f) == AX_OK;
}

/* ---- the places where the last firing's task may be */

static void on_place(void *arg, ax_err err, const struct stored_msg *found)
{
    (void)found;
    happened(arg, err == AX_OK            ? FIRING_FOUND
                  : err == AX_E_NOT_FOUND ? FIRING_NOT_FOUND
                                          : FIRING_NO_ANSWER);
}

/* The due message of the last firing: still being fed when it exists, and is not another one of a
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

static bool look_at(struct firing *f, const char *stream, const char *stage)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject(subject, stage, f->claim.priority, f->pool, f->claim.task);
    return pipeline_get(f->ing->pipe, stream, subject, 0, ASK_WAIT_MS, on_place, f) == AX_OK;
}

static bool look_due(struct firing *f)
{
    return pipeline_get(f->ing->pipe, STREAM_LATER, NULL, f->claim.seq, ASK_WAIT_MS, on_due, f) ==
           AX_OK;
}

static bool look_spill(struct firing *f)
{
    return look_at(f, STREAM_SPILL, "spill");
}

static bool look_queue(struct firing *f)
{
    struct queue *queue = queue_find(f->ing, f->claim.priority);
    if (queue != NULL)
        return look_at(f, queue->p.stream, "queue");
    happened(f, FIRING_NOT_FOUND); /* that priority is gone, and its tasks with it */
    return true;
}

static bool look_later(struct firing *f)
{
    return look_at(f, STREAM_LATER, "*"); /* later, due */
}

/* ---- events */

/* What the state waits for. False: it could not be asked. */
static bool ask(struct firing *f)
{
    static bool (*const asks[FIRING_STATE_COUNT])(struct firing *) = {
        [FIRING_RECORD] = read_record, [FIRING_DUE] = look_due,
        [FIRING_SPILL] = look_spill,   [FIRING_QUEUE] = look_queue,
        [FIRING_LATER] = look_later,   [FIRING_QUEUE_AGAIN] = look_queue,
        [FIRING_CLAIM] = write_record,
    };
    return asks[f->claim.facts.state](f);
}

static void tell(struct firing *f, enum cron_firing_result result)
{
    f->claim.cb(f->claim.arg, result);
}

static void happened(struct firing *f, enum firing_event event)
{
    struct moves *table = firing_moves_table();
    enum firing_state was = f->claim.facts.state;
    const struct move *m = firing_moves_step(table, &f->claim.facts, event);
    if (m == NULL) {
        log_error("no move for a firing", "state=\"%s\" event=\"%s\" schedule=%s",
                  table->states.texts[was], table->events.texts[event], f->schedule);
        tell(f, CRON_FIRING_RETRY);
    } else if (m->action == FIRING_DO_GO) {
        tell(f, CRON_FIRING_GO);
    } else if (m->action == FIRING_DO_SKIP) {
        tell(f, CRON_FIRING_SKIP);
    } else if (m->action == FIRING_DO_RETRY) {
        tell(f, CRON_FIRING_RETRY);
    } else if (!ask(f)) {
        happened(f, FIRING_NO_ANSWER);
    }
}

bool cron_firing_claim(struct firing *f, void (*cb)(void *arg, enum cron_firing_result result),
                       void *arg)
{
    if (pipeline_room(f->ing->pipe) <= 0)
        return false;
    f->claim = (struct firing_claim){.cb = cb, .arg = arg};
    return ask(f);
}
