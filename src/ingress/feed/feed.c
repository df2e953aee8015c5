#include "ingress/feed/feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/ack.h"
#include "bus/pipeline_get.h"
#include "bus/puller.h"
#include "ingress/feed/cron_firing.h"
#include "ingress/feed/feeder.h"
#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "ingress/queue/shares.h"
#include "ingress/sweep.h"
#include "task/header.h"
#include "task/task_stored.h"

/* A message is given back with a delay: without one it would come straight back to the pulls that
 * this process still has at the server. */
#define NAK_DELAY_MS 1000
#define ASK_WAIT_MS 5000
#define TICK_WAIT_MS 100
#define EARLIER_WAIT_MS 200
#define ERROR_WAIT_MS 1000

/* Whose step it is, for the fault points. */
#define is_spill(d) (strcmp(feeder_source((d)->feeder), STREAM_SPILL) == 0)
#define is_firing(d) ((d)->firing != NULL)
#define is_due(d) (!is_spill(d) && !is_firing(d))

static struct ingress *ingress_of(const struct feed *d)
{
    return feeder_queue(d->feeder)->ing;
}

static void free_feed(struct feed *d)
{
    struct feeder *f = d->feeder;
    int64_t bytes = natsMsg_GetDataLength(d->msg);
    feeder_leaves(f, d);
    natsMsg_Destroy(d->msg);
    free(d->firing);
    free(d);
    feeder_forgot(f, bytes);
}

/* An answer came: is somebody there to hear it? */
static bool is_heard(struct feed *d)
{
    d->asked = false;
    if (d->facts.state != FEED_ENDED)
        return true;
    free_feed(d);
    return false;
}

/* What follows an answer; d may have ended afterwards, and the next message may have its turn. */
static void answered(struct feed *d, enum feed_event event)
{
    struct feeder *f = d->feeder;
    feed_event(d, event);
    feeder_pump(f);
}

/* ---- ack: the source message is done with */

static void on_acked(void *arg, const struct answer *a)
{
    struct feed *d = arg;
    FAULT_IF(is_spill(d), "drain.ack.after");
    FAULT_IF(is_firing(d), "firing.ack.after");
    FAULT_IF(is_due(d), "feed.ack.after");
    if (is_heard(d))
        feed_event(d, a->err == AX_E_TIMEOUT ? FEED_NO_ANSWER : FEED_ACKED);
}

/* The server's answer is waited for: an ack that got lost would have the task redelivered. */
static void ack(struct feed *d)
{
    FAULT_IF(is_spill(d), "drain.ack.before");
    FAULT_IF(is_firing(d), "firing.ack.before");
    FAULT_IF(is_due(d), "feed.ack.before");
    d->asked = pipeline_request(ingress_of(d)->pipe, puller_ack_subject(d->msg), "+ACK", 4,
                                ASK_WAIT_MS, on_acked, d) == AX_OK;
    if (!d->asked)
        feed_event(d, FEED_NOT_ASKED);
}

static void forget(struct feed *d)
{
    if (!d->asked)
        free_feed(d);
}

static void ack_unheard(struct feed *d)
{
    wire_publish_text(ingress_of(d)->wire, puller_ack_subject(d->msg), "+ACK");
    forget(d);
}

static void give_back(struct feed *d)
{
    FAULT("feed.give-back.before");
    ack_send_nak(ingress_of(d)->wire, puller_ack_subject(d->msg), NAK_DELAY_MS);
    FAULT_SENT("feed.give-back.after", ingress_of(d)->wire);
    forget(d);
}

/* Its pool keeps others' out of the window: it returns when many others have been seen. */
static void give_way(struct feed *d)
{
    key_index_still_later(ingress_of(d)->key_index, d->id);
    ack_send_nak(ingress_of(d)->wire, puller_ack_subject(d->msg), feeder_return_ms(d->feeder, d));
    forget(d);
}

static void set_aside(struct feed *d)
{
    key_index_still_later(ingress_of(d)->key_index, d->id);
    feeder_set_aside(d->feeder);
}

/* ---- examine: of a schedule's firings one waits for room at most, the earliest */

static void on_examined(void *arg, ax_err err, const struct stored_msg *found)
{
    struct feed *d = arg;
    struct ack_subject source = {0};
    if (!is_heard(d))
        return;
    ack_parse_subject(puller_ack_subject(d->msg), &source);
    bool earlier = err == AX_OK && found->seq < source.stream_seq;
    if (earlier) {
        metric_add(ingress_of(d)->counters.cron.skipped, 1);
        FAULT("firing.one-waits");
    }
    answered(d, earlier                                 ? FEED_FOUND
                : err == AX_OK || err == AX_E_NOT_FOUND ? FEED_NOT_FOUND
                                                        : FEED_NO_ANSWER);
}

static void examine(struct feed *d)
{
    d->asked = pipeline_get(ingress_of(d)->pipe, feeder_source(d->feeder),
                            natsMsg_GetSubject(d->msg), 1, ASK_WAIT_MS, on_examined, d) == AX_OK;
    if (!d->asked)
        feed_event(d, FEED_NOT_ASKED);
}

/* ---- look: the queue has a task of this id already (rule 4) */

static void on_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    struct feed *d = arg;
    struct problem p;
    struct task there;
    if (!is_heard(d))
        return;
    if (err == AX_E_NOT_FOUND) {
        answered(d, FEED_NOT_FOUND);
    } else if (err != AX_OK ||
               task_stored_read_at(&there, found->subject, found->msg, &p) != AX_OK) {
        answered(d, FEED_NO_ANSWER);
    } else {
        bool earlier = there.attempt < d->attempt;
        task_clear(&there);
        FAULT_IF(!earlier, "feed.known");
        FAULT_IF(earlier, "feed.earlier");
        if (!earlier)
            feeder_was_known(d->feeder);
        answered(d, earlier ? FEED_FOUND_EARLIER : FEED_FOUND);
    }
}

static void look(struct feed *d)
{
    struct task_subject s;
    char subject[SUBJECT_MAX_CHARS];
    name_parse_task_subject(natsMsg_GetSubject(d->msg), &s);
    name_subject(subject, "queue", s.priority, s.pool, d->id);
    d->asked = pipeline_get(ingress_of(d)->pipe, feeder_queue(d->feeder)->p.stream, subject, 0,
                            ASK_WAIT_MS, on_looked, d) == AX_OK;
    if (!d->asked)
        feed_event(d, FEED_NOT_ASKED);
}

/* ---- publish into the queue */

/* What was accepted before has no share to keep to, but others make room for it. */
static void make_room_for(const struct feed *d)
{
    struct task_subject s;
    const char *group = NULL;
    if (natsMsgHeader_Get(d->msg, HDR_GROUP, &group) == NATS_OK &&
        strlen(group) <= GROUP_MAX_BYTES && name_parse_task_subject(natsMsg_GetSubject(d->msg), &s))
        shares_refused(feeder_queue(d->feeder), s.pool, group, false);
}

static enum feed_event stored(struct feed *d)
{
    struct ingress *ing = ingress_of(d);
    if (d->firing != NULL)
        metric_add(ing->counters.cron.fired, 1);
    d->fed = true;
    key_index_left_later(ing->key_index, d->id);
    return FEED_STORED;
}

static enum feed_event full(struct feed *d)
{
    key_index_still_later(ingress_of(d)->key_index, d->id);
    make_room_for(d);
    return FEED_FULL;
}

static enum feed_event refused(struct feed *d, const struct answer *a)
{
    char text[256];
    unsigned long more;
    if (feeder_may_log(d->feeder, &more)) {
        log_warn("queue does not take a task back, trying again",
                 "priority=%s from=%s task=%s error=%s more=%lu", feeder_queue(d->feeder)->p.name,
                 feeder_source(d->feeder), d->id,
                 log_quote(a->err == AX_E_SERVER ? a->description : ax_err_text(a->err), text,
                           sizeof(text)),
                 more);
    }
    return FEED_REFUSED;
}

static void on_published(void *arg, const struct answer *a)
{
    struct feed *d = arg;
    bool is_error = a->err == AX_E_SERVER, is_full = is_error && a->err_code == JSERR_STORE_FULL;
    FAULT_IF(a->err == AX_OK && is_spill(d), "drain.publish.after");
    FAULT_IF(a->err == AX_OK && is_firing(d), "firing.publish.after");
    FAULT_IF(a->err == AX_OK && is_due(d), "feed.publish.after");
    FAULT_IF(a->err_code == JSERR_STORE_FULL, "feed.publish.full");
    queue_room_settled(feeder_queue(d->feeder), d->held, a->err == AX_OK, a->seq);
    d->held = NULL;
    feeder_answered(d->feeder, a->err == AX_OK, is_full);
    if (!is_heard(d))
        return;
    if (a->err == AX_OK)
        answered(d, stored(d));
    else if (is_error && a->err_code == JSERR_WRONG_LAST_SEQ)
        answered(d, FEED_EXISTS);
    else
        answered(d, is_full ? full(d) : refused(d, a));
}

/* The message id is for the message that is redelivered, its ack unheard, when its task has failed
 * for good meanwhile. */
static ax_err set_headers(const struct feed *d, natsMsg *out)
{
    struct ack_subject source = {0};
    char id[256];
    ack_parse_subject(puller_ack_subject(d->msg), &source);
    snprintf(id, sizeof(id), "%s.%s.%" PRIu64 ".%" PRId64 ".fed", d->id, feeder_source(d->feeder),
             source.stream_seq, source.timestamp_ns);
    return header_set(out, HDR_EXPECT_SUBJECT_SEQ, "0") == NATS_OK &&
                   header_set(out, HDR_MSG_ID, id) == NATS_OK
               ? AX_OK
               : AX_E_NOMEM;
}

static ax_err try_publish(struct feed *d)
{
    struct pipeline *pipe = ingress_of(d)->pipe;
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS];
    struct problem p;
    struct task t = {0};
    natsMsg *out = NULL;
    ax_err err = pipeline_room(pipe) > 0 ? task_stored_read(&t, d->msg, &p) : AX_E_BUSY;
    if (err != AX_OK)
        return err;
    if (d->firing != NULL)
        cron_firing_to_task(d->firing, &t);
    name_subject(subject, "queue", t.priority, t.pool, t.id);
    err = pipeline_reserve(pipe, reply);
    bool reserved = err == AX_OK;
    if (err == AX_OK)
        err = task_to_msg(&t, subject, reply, &out);
    if (err == AX_OK && (err = set_headers(d, out)) != AX_OK)
        natsMsg_Destroy(out);
    task_clear(&t);
    FAULT_IF(is_spill(d), "drain.publish.before");
    FAULT_IF(is_firing(d), "firing.publish.before");
    FAULT_IF(is_due(d), "feed.publish.before");
    if (err == AX_OK)
        return pipeline_publish(pipe, reply, out, 0, on_published, d);
    if (reserved)
        pipeline_cancel(pipe, reply);
    return err;
}

static void publish(struct feed *d)
{
    ax_err err = try_publish(d);
    d->asked = err == AX_OK;
    if (err != AX_OK)
        feed_event(d, err == AX_E_BUSY ? FEED_NO_ROOM : FEED_NOT_ASKED);
}

/* ---- claim: a firing of a recurring task, not while the last one is unfinished */

static void on_claimed(void *arg, enum cron_firing_result result)
{
    struct feed *d = arg;
    if (!is_heard(d))
        return;
    if (result == CRON_FIRING_SKIP) {
        metric_add(ingress_of(d)->counters.cron.skipped, 1);
        FAULT("firing.skip");
    }
    answered(d, result == CRON_FIRING_GO     ? FEED_GO
                : result == CRON_FIRING_SKIP ? FEED_SKIP
                                             : FEED_NO_ANSWER);
}

static void claim(struct feed *d)
{
    d->asked = cron_firing_claim(d->firing, on_claimed, d);
    if (!d->asked)
        feed_event(d, FEED_NOT_ASKED);
}

/* ---- events */

static void wait_ms(struct feed *d, int64_t ms)
{
    d->wait_until_ns = loop_now_ns(ingress_of(d)->loop) + ms * 1000000;
}

static void perform(struct feed *d, enum feed_action action)
{
    static void (*const acts[FEED_ACTION_COUNT])(struct feed *) = {
        [FEED_DO_CLAIM] = claim,
        [FEED_DO_PUBLISH] = publish,
        [FEED_DO_LOOK] = look,
        [FEED_DO_ACK] = ack,
        [FEED_DO_ACK_UNHEARD] = ack_unheard,
        [FEED_DO_GIVE_BACK] = give_back,
        [FEED_DO_GIVE_WAY] = give_way,
        [FEED_DO_SET_ASIDE] = set_aside,
        [FEED_DO_LOOK_EARLIER] = examine,
        [FEED_DO_FORGET] = forget,
    };
    static const int64_t waits_ms[FEED_ACTION_COUNT] = {
        [FEED_DO_WAIT_TICK] = TICK_WAIT_MS,
        [FEED_DO_WAIT_EARLIER] = EARLIER_WAIT_MS,
        [FEED_DO_WAIT_ERROR] = ERROR_WAIT_MS,
    };
    if (waits_ms[action] > 0)
        wait_ms(d, waits_ms[action]);
    else if (acts[action] != NULL)
        acts[action](d);
}

/* The table does not know the event in this state: a mistake of ours. Nothing is concluded from it,
 * and nothing is acked: the message begins anew in a second. */
static void no_move(struct feed *d, enum feed_event event)
{
    const struct moves *m = feed_moves_table();
    enum feed_state was = d->facts.state;
    log_error("no move for a due message", "state=\"%s\" event=\"%s\" task=%s",
              m->states.texts[was], m->events.texts[event], d->id);
    if (d->asked || was == FEED_READY || was == FEED_WAITING || was == FEED_ENDED)
        return;
    d->facts.state = FEED_WAITING;
    feeder_moved(d->feeder, d, was, FEED_WAITING);
    wait_ms(d, ERROR_WAIT_MS);
}

void feed_event(struct feed *d, enum feed_event event)
{
    enum feed_state was = d->facts.state;
    const struct move *m = feed_moves_step(feed_moves_table(), &d->facts, event);
    if (m == NULL) {
        no_move(d, event);
        return;
    }
    feeder_moved(d->feeder, d, was, d->facts.state);
    perform(d, m->action);
}

/* ---- birth */

struct feed *feed_new(struct feeder *f, natsMsg *msg)
{
    struct feed *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return NULL;
    d->feeder = f;
    d->msg = msg;
    d->lease_ns = loop_now_ns(feeder_queue(f)->ing->loop);
    return d;
}

/* A firing has an id of its own and begins with attempt 1. */
static bool take_firing(struct feed *d, const struct task *t, const struct ack_subject *source)
{
    d->firing = malloc(sizeof(*d->firing));
    if (d->firing == NULL)
        return false;
    cron_firing_init(d->firing, ingress_of(d), t, d->msg, source->stream_seq, source->timestamp_ns);
    d->facts.unclaimed = t->overlap != TASK_OVERLAP_QUEUE;
    d->facts.unexamined = true;
    d->attempt = 1;
    return true;
}

static enum feed_event take_task(struct feed *d, const struct task *t,
                                 const struct ack_subject *source)
{
    clock_merge(ingress_of(d)->clock, t->submitted);
    d->attempt = t->attempt;
    memcpy(d->pool, t->pool, sizeof(d->pool));
    if (t->cron != NULL && !take_firing(d, t, source))
        return FEED_NO_MEMORY;
    snprintf(d->id, sizeof(d->id), "%s", d->firing != NULL ? d->firing->id : t->id);
    feeder_entered(d->feeder, d);
    return FEED_TASK;
}

void feed_start(struct feed *d)
{
    struct ack_subject source = {0};
    struct problem p;
    struct task t = {0};
    const char *stream = feeder_source(d->feeder), *subject = natsMsg_GetSubject(d->msg);
    if (ack_parse_subject(puller_ack_subject(d->msg), &source))
        clock_learn(ingress_of(d)->clock, source.timestamp_ns);
    ax_err err = task_stored_read(&t, d->msg, &p);
    if (err == AX_E_NOMEM) {
        log_error("out of memory, task left where it is", "stream=%s subject=%s", stream, subject);
        feed_event(d, FEED_NO_MEMORY);
    } else if (err != AX_OK && !is_spill(d)) {
        sweep_saw(ingress_of(d)->sweep, subject, d->msg);
        feed_event(d, FEED_SWEPT);
    } else if (err != AX_OK) {
        static struct log_gate gate;
        char text[400];
        log_limited(&gate, loop_now_ns(ingress_of(d)->loop), LOG_ERROR,
                    "message that is no task, dropped", "stream=%s subject=%s error=%s", stream,
                    subject, log_quote(p.text, text, sizeof(text)));
        feed_event(d, FEED_NO_TASK);
    } else {
        enum feed_event event = take_task(d, &t, &source);
        task_clear(&t);
        feed_event(d, event);
    }
}
