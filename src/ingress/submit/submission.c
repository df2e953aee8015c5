#include "ingress/submit/submission.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "ingress/pools.h"
#include "ingress/queue/queue.h"
#include "ingress/submit/batch.h"
#include "ingress/submit/schedule.h"
#include "ingress/submit/submission_check.h"
#include "ingress/submit/submission_look.h"
#include "ingress/submit/submission_store.h"
#include "ingress/submit/submits.h"
#include "task/task_proto.h"

/* Later than those for whom room is made, who are told to come sooner. */
#define OVER_SHARE_MS 100
#define REASON_MAX_BYTES 480

/* ---- asking what the state waits for */

static void ask(struct submission *s)
{
    static void (*const asks[SUBMISSION_STATE_COUNT])(struct submission *) = {
        [SUBMISSION_NEW] = submission_check,
        [SUBMISSION_RECORD] = submission_look_record,
        [SUBMISSION_LATER] = submission_look_later,
        [SUBMISSION_DEAD] = submission_look_dead,
        [SUBMISSION_PLACE] = submission_store_choose,
        [SUBMISSION_QUEUE] = submission_look_queue,
        [SUBMISSION_WORK] = submission_look_work,
        [SUBMISSION_ENQUEUE] = submission_store_queue,
        [SUBMISSION_SPILL] = submission_store_spill,
        [SUBMISSION_DELAY] = submission_store_later,
        [SUBMISSION_COMPARE_QUEUE] = submission_look_queue,
        [SUBMISSION_COMPARE_SPILL] = submission_look_spill,
        [SUBMISSION_COMPARE_LATER] = submission_look_delayed,
        [SUBMISSION_CHECK_RECORD] = submission_look_record_again,
        [SUBMISSION_CHECK_LATER] = submission_look_later,
        [SUBMISSION_CHECK_DEAD] = submission_look_dead,
        [SUBMISSION_BURY] = submission_store_dead,
        [SUBMISSION_SCHEDULE] = schedule_look,
        [SUBMISSION_REPLACE] = schedule_store,
        [SUBMISSION_OLDER] = schedule_look_older,
        [SUBMISSION_REMOVE] = schedule_remove_older,
    };
    asks[s->facts.state](s);
}

/* ---- answers */

static void answer(struct submission *s, const struct verdict *v)
{
    if (s->source.answered)
        return;
    s->source.answered = true;
    FAULT("submit.answer.before");
    if (s->source.batch != NULL)
        batch_answered(s->source.batch, s->source.index, v);
    else if (s->source.reply != NULL)
        answer_send(s->ing->wire, s->source.reply, v);
    FAULT_SENT("submit.answer.after", s->ing->wire);
}

/* It is stored: its pool must have an entry from now on. Before this none is added, so a submission
 * that is refused leaves no pool behind. */
static void need_pool(struct submission *s)
{
    struct pools *ps = s->ing->pools;
    if (s->claims_pool || s->pool_removals != pools_removals(ps))
        pools_add(ps, s->task.pool);
}

/* Without a question under way, which is always, it is freed at once. */
static void end(struct submission *s)
{
    if (!s->question.asked)
        submission_free(s);
}

static void accept(struct submission *s, const char *stream, enum state state)
{
    struct verdict v;
    v.code = 0;
    v.retry_after_ms = 0;
    v.stream = stream != NULL ? stream : s->queue->p.stream;
    v.seq = s->answer.seq;
    v.duplicate = false;
    v.task = s->task.id;
    v.state = counters_state_text(state);
    if (stream == NULL)
        metric_add(s->queue->count.accepted, 1);
    need_pool(s);
    answer(s, &v);
    end(s);
}

/* The checks that came after its PubAck found nothing that was there before it. */
static void accept_stored(struct submission *s)
{
    const char *stream = s->answer.stored_in;
    s->answer.seq = s->answer.stored_seq;
    accept(s, stream,
           stream != NULL && strcmp(stream, STREAM_LATER) == 0 ? STATE_LATER : STATE_QUEUED);
}

static void known(struct submission *s, const char *stream, enum state state)
{
    struct verdict v = {.stream = stream != NULL ? stream : s->queue->p.stream,
                        .seq = s->answer.seq,
                        .duplicate = true,
                        .task = s->task.id,
                        .state = counters_state_text(state)};
    metric_add(s->ing->counters.duplicates[state], 1);
    if (state != STATE_DONE && state != STATE_DEAD)
        need_pool(s);
    FAULT("submit.known");
    answer(s, &v);
    end(s);
}

static void busy(struct submission *s, const char *full_of, int64_t hint_ms)
{
    struct verdict v;
    answer_set_error(&v, 503, JSERR_STORE_FULL, hint_ms,
                     "queue %s is full (%s), retry in %" PRId64 "ms", s->queue->p.name, full_of,
                     hint_ms);
    metric_add(s->queue->count.busy, 1);
    answer(s, &v);
    end(s);
}

static void busy_queue(struct submission *s)
{
    char full_of[64];
    int64_t hint_ms = s->answer.soon ? queue_hint_soon_ms(s->queue) : queue_hint_ms(s->queue);
    if (s->answer.full_of == JSERR_FULL_BYTES)
        snprintf(full_of, sizeof(full_of), "max_bytes reached");
    else
        snprintf(full_of, sizeof(full_of), "%" PRId64 " tasks", s->queue->p.max_msgs);
    busy(s, full_of, hint_ms);
}

static void busy_share(struct submission *s)
{
    struct verdict v;
    int64_t hint_ms = queue_hint_ms(s->queue);
    hint_ms = hint_ms < OVER_SHARE_MS ? OVER_SHARE_MS : hint_ms;
    metric_add(s->queue->count.over_share, 1);
    metric_add(s->queue->count.busy, 1);
    answer_set_error(&v, 503, JSERR_STORE_FULL, hint_ms,
                     "queue %s: group \"%s\" has %" PRId64 " tasks in it, its share is %" PRId64
                     " while others wait, retry in %" PRId64 "ms",
                     s->queue->p.name, s->task.group != NULL ? s->task.group : "",
                     s->answer.over.held, s->answer.over.share, hint_ms);
    answer(s, &v);
    end(s);
}

static void busy_pool(struct submission *s)
{
    struct verdict v;
    const struct over_quota *over = &s->answer.over;
    int64_t hint_ms = queue_hint_ms(s->queue);
    hint_ms = over->soon || hint_ms < OVER_SHARE_MS ? OVER_SHARE_MS : hint_ms;
    metric_add(s->queue->count.over_pool_share, 1);
    metric_add(s->queue->count.busy, 1);
    answer_set_error(&v, 503, JSERR_STORE_FULL, hint_ms,
                     "queue %s: pool \"%s\" has %" PRId64 " of %" PRId64
                     " places, the rest is kept for other pools, retry in %" PRId64 "ms",
                     s->queue->p.name, s->task.pool, over->held, s->queue->p.max_msgs, hint_ms);
    answer(s, &v);
    end(s);
}

static void unknown(struct submission *s)
{
    struct verdict v;
    answer_set_error(
        &v, 503, JSERR_JS_UNAVAILABLE, SUBMITS_RETRY_MS,
        s->facts.keyed
            ? "unknown: JetStream does not answer; retry with the same key"
            : "unknown: JetStream does not answer; without a key a retry may run it twice");
    metric_add(s->ing->counters.unknown, 1);
    answer(s, &v);
}

static void bury(struct submission *s, const char *why, const char *text)
{
    char reason[REASON_MAX_BYTES];
    snprintf(reason, sizeof(reason), "%s: %s", why, text);
    free(s->reason);
    s->reason = strdup(reason);
    ask(s);
}

static void refuse(struct submission *s)
{
    metric_add(s->ing->counters.refused[s->answer.why], 1);
    answer(s, s->answer.refusal);
    end(s);
}

static void bury_refused(struct submission *s)
{
    const struct verdict *v = s->answer.refusal;
    metric_add(s->ing->counters.refused[s->answer.why], 1);
    bury(s, v->code == 400 ? "invalid" : "refused", v->description);
}

static void wait_for(struct submission *s, enum submission_action action)
{
    submits_wait(s->ing->submits, s,
                 action == SUBMISSION_DO_DEFER  ? SUBMITS_DEFERRED
                 : action == SUBMISSION_DO_WAIT ? SUBMITS_BRIEF
                                                : SUBMITS_RETRY);
}

static void bury_ordered(struct submission *s)
{
    bury(s, "full", "the queue is full, and the spill does not keep the order of a group");
}

static void bury_full(struct submission *s)
{
    bury(s, "full", "queue and spill are full");
}

static void busy_spill(struct submission *s)
{
    busy(s, "its spill too", queue_hint_ms(s->queue));
}

static void perform(struct submission *s, enum submission_action action)
{
    static void (*const acts[SUBMISSION_ACTION_COUNT])(struct submission *) = {
        [SUBMISSION_DO_LOOK] = ask,
        [SUBMISSION_DO_CHOOSE] = ask,
        [SUBMISSION_DO_STORE] = ask,
        [SUBMISSION_DO_REMOVE] = ask,
        [SUBMISSION_DO_RESUME] = ask,
        [SUBMISSION_DO_BUSY_SHARE] = busy_share,
        [SUBMISSION_DO_BUSY_POOL] = busy_pool,
        [SUBMISSION_DO_BUSY_QUEUE] = busy_queue,
        [SUBMISSION_DO_BUSY_SPILL] = busy_spill,
        [SUBMISSION_DO_ACCEPT_STORED] = accept_stored,
        [SUBMISSION_DO_REFUSE] = refuse,
        [SUBMISSION_DO_UNKNOWN] = unknown,
        [SUBMISSION_DO_BURY_REFUSED] = bury_refused,
        [SUBMISSION_DO_BURY_ORDERED] = bury_ordered,
        [SUBMISSION_DO_BURY_FULL] = bury_full,
        [SUBMISSION_DO_END] = end,
    };
    static const struct {
        const char *stream; /* NULL: its queue's */
        enum state state;
        bool known, accepted;
    } answers[SUBMISSION_ACTION_COUNT] = {
        [SUBMISSION_DO_ACCEPT_QUEUED] = {NULL, STATE_QUEUED, .accepted = true},
        [SUBMISSION_DO_ACCEPT_SPILLED] = {STREAM_SPILL, STATE_QUEUED, .accepted = true},
        [SUBMISSION_DO_ACCEPT_LATER] = {STREAM_LATER, STATE_LATER, .accepted = true},
        [SUBMISSION_DO_KNOWN_QUEUED] = {NULL, STATE_QUEUED, .known = true},
        [SUBMISSION_DO_KNOWN_SPILLED] = {STREAM_SPILL, STATE_QUEUED, .known = true},
        [SUBMISSION_DO_KNOWN_RUNNING] = {NULL, STATE_RUNNING, .known = true},
        [SUBMISSION_DO_KNOWN_LATER] = {STREAM_LATER, STATE_LATER, .known = true},
        [SUBMISSION_DO_KNOWN_DONE] = {STREAM_DONE, STATE_DONE, .known = true},
        [SUBMISSION_DO_KNOWN_DEAD] = {STREAM_DEAD, STATE_DEAD, .known = true},
    };
    if (answers[action].accepted)
        accept(s, answers[action].stream, answers[action].state);
    else if (answers[action].known)
        known(s, answers[action].stream, answers[action].state);
    else if (acts[action] != NULL)
        acts[action](s);
    else
        wait_for(s, action);
}

/* ---- events */

/* The table does not know the event in this state: a mistake of ours. Nothing is concluded from it;
 * the question is asked again. */
static void no_move(struct submission *s, enum submission_event event)
{
    const struct moves *m = submission_moves_table();
    log_error("no move for a submission", "state=\"%s\" event=\"%s\" task=%s",
              m->states.texts[s->facts.state], m->events.texts[event], s->task.id);
    if (s->facts.state == SUBMISSION_ENDED || s->facts.waits || s->question.asked)
        return;
    s->facts.waits = true;
    submits_wait(s->ing->submits, s, SUBMITS_RETRY);
}

void submission_event(struct submission *s, enum submission_event event)
{
    const struct move *m = submission_moves_step(submission_moves_table(), &s->facts, event);
    if (m == NULL)
        no_move(s, event);
    else
        perform(s, m->action);
}

void submission_refuse(struct submission *s, enum refusal why, const struct verdict *v)
{
    s->answer.why = why;
    s->answer.refusal = v;
    submission_event(s, SUBMISSION_REFUSED);
}

void submission_refuse_for(struct submission *s, enum refusal why, const struct problem *p)
{
    struct verdict v;
    if (p->err == AX_E_NOMEM) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, SUBMITS_RETRY_MS,
                         "ingress is out of memory, retry in %dms", SUBMITS_RETRY_MS);
    } else {
        answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0, "%s", p->text);
    }
    submission_refuse(s, why, &v);
}

/* ---- birth and death */

struct submission *submission_new(struct ingress *ing)
{
    struct submission *s = submits_add(ing->submits);
    if (s == NULL)
        return NULL;
    s->ing = ing;
    s->source.since_ns = loop_now_ns(ing->loop);
    return s;
}

static void note_reply(struct submission *s)
{
    s->facts.replies = s->source.reply != NULL;
    submits_count_silent(s->ing->submits, !s->facts.replies);
}

void submission_start(struct submission *s)
{
    note_reply(s);
    s->facts.keyed = s->task.key != NULL;
    s->facts.ordered = s->task.ordered;
    s->facts.recurring = s->task.cron != NULL;
    ask(s);
}

void submission_start_unread(struct submission *s, const char *subject, const struct problem *p)
{
    struct problem ignored;
    /* The batch stays in memory; a single task has its message. */
    const void *body = s->source.batch != NULL ? s->task.body : NULL;
    size_t bytes = s->source.batch != NULL ? s->task.body_bytes : 0;
    memset(&s->task, 0, sizeof(s->task));
    s->task.body = body;
    s->task.body_bytes = bytes;
    if (name_parse_submit(subject, s->task.priority, s->task.pool, &ignored) != AX_OK) {
        s->task.priority[0] = '\0';
        name_pool_of_submit(subject, s->task.pool);
    }
    note_reply(s);
    submission_refuse_for(s, REFUSED_INVALID, p);
}

void submission_free(struct submission *s)
{
    if (s->held != NULL)
        pool_shares_settled(s->held, false);
    later_settled(&s->ing->later, &s->later, false);
    submits_count_silent(s->ing->submits, -!s->facts.replies);
    account_give(s->ing->account, &s->source.charge);
    if (s->claims_pool)
        pools_release(s->ing->pools, s->task.pool);
    task_clear(&s->task);
    task_proto_free(s->source.unpacked);
    if (s->source.batch != NULL)
        batch_release(s->source.batch);
    else
        natsMsg_Destroy(s->source.msg);
    free(s->reason);
    submits_remove(s->ing->submits, s);
}
