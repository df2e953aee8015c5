#include "ingress/feed/feeder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/ack.h"
#include "bus/pipeline_get.h"
#include "bus/provision/provisioner.h"
#include "bus/puller.h"
#include "bus/stream_info.h"
#include "ingress/feed/cron_firing.h"
#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "ingress/queue/shares.h"
#include "task/header.h"
#include "task/task.h"
#include "task/task_stored.h"

/* Given back with a delay: without one it would come straight back to the pulls we still have at
 * the server. */
#define NAK_DELAY_MS 1000
#define WINDOW 256
#define TICK_MS 100
#define LEASE_NS 1500000000LL /* renewed this often; the consumer's ack_wait is 6 s */
#define ROOM_FIRST_MS 25
#define ROOM_MAX_MS 500
#define EARLIER_WAIT_MS 200
#define ERROR_WAIT_MS 1000
#define ASK_WAIT_MS 5000
#define ACK_TRIES 3

struct held {
    struct held *prev, *next;
    struct feeder *feeder;
    natsMsg *msg;
    struct firing *firing; /* of a recurring task; NULL: an ordinary one (owned) */
    uint64_t number;       /* order of arrival */
    uint32_t attempt;
    int64_t lease_ns;      /* when the lease was renewed last */
    int64_t wait_until_ns; /* in the list `waiting`: when to try again */
    int acks;
    char id[TASK_ID_CHARS + 1];
};

struct list {
    struct held *head, *tail;
};

struct feeder {
    struct queue *queue;
    const char *source;
    struct puller *puller;
    bool running;
    struct list ready;   /* to be published, in order of arrival */
    struct list flying;  /* publish, look-up or ack under way */
    struct list waiting; /* an earlier attempt is in the queue, or an error: come back */
    int held, publishing, flying_count;
    uint64_t arrived;
    bool full;     /* the queue refused: publish only what there is room for */
    int64_t room;  /* while full: how many may go */
    bool asking;   /* for the room */
    bool progress; /* some of the last burst went in: ask for more room at once */
    int64_t room_delay_ms;
    struct loop_timer room_timer, tick;
    struct metric *fed, *dropped, *refused;
    struct log_gate gate;
};

static void pump(struct feeder *f);
static void want(struct feeder *f);

/* Whose step it is, for the fault points. */
#define is_spill(f) (strcmp((f)->source, STREAM_SPILL) == 0)
#define is_firing(h) ((h)->firing != NULL)

static void list_remove(struct list *l, struct held *h)
{
    if (h->prev != NULL)
        h->prev->next = h->next;
    else
        l->head = h->next;
    if (h->next != NULL)
        h->next->prev = h->prev;
    else
        l->tail = h->prev;
    h->prev = h->next = NULL;
}

static void list_insert(struct list *l, struct held *h)
{
    struct held *after = l->tail;
    while (after != NULL && after->number > h->number)
        after = after->prev;
    h->prev = after;
    h->next = after != NULL ? after->next : l->head;
    if (h->next != NULL)
        h->next->prev = h;
    else
        l->tail = h;
    if (after != NULL)
        after->next = h;
    else
        l->head = h;
}

static void fly(struct feeder *f, struct held *h)
{
    list_insert(&f->flying, h);
    f->flying_count++;
}

static void land(struct feeder *f, struct held *h)
{
    list_remove(&f->flying, h);
    f->flying_count--;
}

static void wait_and_retry(struct feeder *f, struct held *h, int64_t ms)
{
    h->wait_until_ns = loop_now_ns(f->queue->ing->loop) + ms * 1000000;
    list_insert(&f->waiting, h);
}

static void drop(struct feeder *f, struct held *h)
{
    natsMsg_Destroy(h->msg);
    free(h->firing);
    free(h);
    f->held--;
    want(f);
}

/* ---- the source message is done with */

static void ack_source(struct held *h);

static void on_acked(void *arg, const struct answer *a)
{
    struct held *h = arg;
    struct feeder *f = h->feeder;
    FAULT_IF(is_spill(f), "drain.ack.after");
    FAULT_IF(is_firing(h), "firing.ack.after");
    FAULT_IF(!is_spill(f) && !is_firing(h), "feed.ack.after");
    land(f, h);
    if (a->err == AX_E_TIMEOUT && ++h->acks < ACK_TRIES)
        ack_source(h);
    else
        drop(f, h); /* not heard: it is redelivered and finds its task in the queue, or done */
}

/* The server's word is waited for: an ack that got lost would bring the task once more. Not in any
 * list. */
static void ack_source(struct held *h)
{
    struct feeder *f = h->feeder;
    FAULT_IF(is_spill(f), "drain.ack.before");
    FAULT_IF(is_firing(h), "firing.ack.before");
    FAULT_IF(!is_spill(f) && !is_firing(h), "feed.ack.before");
    if (pipeline_request(f->queue->ing->pipe, natsMsg_GetReply(h->msg), ACK_TEXT_ACK,
                         strlen(ACK_TEXT_ACK), ASK_WAIT_MS, on_acked, h) != AX_OK) {
        wire_publish_text(f->queue->ing->wire, natsMsg_GetReply(h->msg), ACK_TEXT_ACK);
        drop(f, h);
        return;
    }
    fly(f, h);
}

/* ---- the queue has a task of this id already (rule 4) */

static void on_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    struct held *h = arg;
    struct feeder *f = h->feeder;
    struct problem p;
    struct task there;
    land(f, h);
    if (err == AX_E_NOT_FOUND) {
        list_insert(&f->ready, h); /* it has just gone */
    } else if (err != AX_OK ||
               task_stored_read_at(&there, found->subject, found->msg, &p) != AX_OK) {
        wait_and_retry(f, h, ERROR_WAIT_MS);
    } else {
        uint32_t attempt = there.attempt;
        task_clear(&there);
        FAULT_IF(attempt >= h->attempt, "feed.known");
        FAULT_IF(attempt < h->attempt, "feed.earlier");
        if (attempt >= h->attempt) {
            metric_add(f->dropped, 1);
            ack_source(h);
        } else {
            /* it is just being released: acking here would lose the task */
            wait_and_retry(f, h, EARLIER_WAIT_MS);
        }
    }
    pump(f);
}

static void look(struct held *h)
{
    struct feeder *f = h->feeder;
    struct task_subject s;
    char subject[SUBJECT_MAX_CHARS];
    name_parse_task_subject(natsMsg_GetSubject(h->msg), &s);
    name_subject(subject, "queue", s.priority, s.pool, h->id);
    if (pipeline_get(f->queue->ing->pipe, f->queue->p.stream, subject, 0, ASK_WAIT_MS, on_looked,
                     h) == AX_OK)
        fly(f, h);
    else
        wait_and_retry(f, h, ERROR_WAIT_MS);
}

/* ---- publishing into the queue */

static void on_room(void *arg, ax_err err, const struct stream_info *info)
{
    struct feeder *f = arg;
    f->asking = false;
    if (err == AX_OK) {
        bool bytes_full = info->max_bytes > 0 &&
                          info->bytes * 100 >= (uint64_t)info->max_bytes * 99;
        f->room = info->max_msgs < 0 ? WINDOW : info->max_msgs - (int64_t)info->messages;
        if (bytes_full && f->room > 1)
            f->room = 1; /* how many more fit is not known: one at a time */
        f->full = f->room < 2 * WINDOW || bytes_full;
    }
    f->room_delay_ms = err == AX_OK && f->room > 0          ? ROOM_FIRST_MS
                       : f->room_delay_ms * 2 > ROOM_MAX_MS ? ROOM_MAX_MS
                                                            : f->room_delay_ms * 2;
    pump(f);
}

static void ask_room(void *arg)
{
    struct feeder *f = arg;
    if (f->asking)
        return;
    struct ingress *ing = f->queue->ing;
    f->asking = stream_info_get(ing->pipe, ing->loop, f->queue->p.stream, ASK_WAIT_MS, on_room,
                                f) == AX_OK;
    if (!f->asking)
        loop_timer_start(ing->loop, &f->room_timer, ROOM_MAX_MS, ask_room, f);
}

/* What was accepted before has no share to keep to, but others make room for it. */
static void make_room_for(const struct held *h)
{
    struct task_subject s;
    const char *group = NULL;
    if (natsMsgHeader_Get(h->msg, HDR_GROUP, &group) == NATS_OK &&
        strlen(group) <= GROUP_MAX_BYTES && name_parse_task_subject(natsMsg_GetSubject(h->msg), &s))
        shares_refused(h->feeder->queue, s.pool, group, false);
}

static void on_published(void *arg, const struct answer *a)
{
    struct held *h = arg;
    struct feeder *f = h->feeder;
    unsigned long more;
    FAULT_IF(a->err == AX_OK && is_spill(f), "drain.publish.after");
    FAULT_IF(a->err == AX_OK && is_firing(h), "firing.publish.after");
    FAULT_IF(a->err == AX_OK && !is_spill(f) && !is_firing(h), "feed.publish.after");
    FAULT_IF(a->err_code == JSERR_STORE_FULL, "feed.publish.full");
    land(f, h);
    f->publishing--;
    if (a->err == AX_OK) {
        metric_add(f->fed, 1);
        f->progress = true;
        if (h->firing != NULL)
            metric_add(f->queue->ing->counters.cron_fired, 1);
        key_index_left_later(f->queue->ing->key_index, h->id);
        ack_source(h);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ) {
        look(h);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_STORE_FULL) {
        metric_add(f->refused, 1);
        if (!f->full)
            f->room_delay_ms = ROOM_FIRST_MS;
        f->full = true;
        f->room = 0;
        key_index_still_later(f->queue->ing->key_index, h->id);
        make_room_for(h);
        list_insert(&f->ready, h);
    } else {
        char text[256];
        if (log_gate_open(&f->gate, loop_now_ns(f->queue->ing->loop), 1000000000LL, &more)) {
            log_warn("queue does not take a task back, trying again",
                     "priority=%s from=%s task=%s error=%s more=%lu", f->queue->p.name, f->source,
                     h->id,
                     log_quote(a->err == AX_E_SERVER ? a->description : ax_err_text(a->err), text,
                               sizeof(text)),
                     more);
        }
        wait_and_retry(f, h, ERROR_WAIT_MS);
    }
    pump(f);
}

static ax_err publish(struct feeder *f, struct held *h)
{
    struct ingress *ing = f->queue->ing;
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS], id[256];
    struct ack_subject source = {0};
    struct problem p;
    struct task t = {0};
    natsMsg *out = NULL;
    ax_err err = pipeline_room(ing->pipe) > 0 ? task_stored_read(&t, h->msg, &p) : AX_E_BUSY;
    if (err != AX_OK)
        return err;
    if (h->firing != NULL)
        cron_to_task(h->firing, &t);
    name_subject(subject, "queue", t.priority, t.pool, t.id);
    err = pipeline_reserve(ing->pipe, reply);
    bool reserved = err == AX_OK;
    if (err == AX_OK)
        err = task_to_msg(&t, subject, reply, &out);
    /* The id is for the message that is redelivered, its ack unheard, when its task has failed for
     * good meanwhile. */
    ack_parse_subject(natsMsg_GetReply(h->msg), &source);
    snprintf(id, sizeof(id), "%s.%s.%" PRIu64 ".%" PRId64 ".fed", h->id, f->source,
             source.stream_seq, source.timestamp_ns);
    if (err == AX_OK && (header_set(out, HDR_EXPECT_SUBJECT_SEQ, "0") != NATS_OK ||
                         header_set(out, HDR_MSG_ID, id) != NATS_OK)) {
        natsMsg_Destroy(out);
        err = AX_E_NOMEM;
    }
    task_clear(&t);
    FAULT_IF(is_spill(f), "drain.publish.before");
    FAULT_IF(is_firing(h), "firing.publish.before");
    FAULT_IF(!is_spill(f) && !is_firing(h), "feed.publish.before");
    if (err == AX_OK)
        err = pipeline_publish(ing->pipe, reply, out, 0, on_published, h);
    else if (reserved)
        pipeline_cancel(ing->pipe, reply);
    return err;
}

/* ---- a firing of a recurring task, not while the last one is unfinished */

static void on_word(void *arg, enum cron_word word)
{
    struct held *h = arg;
    struct feeder *f = h->feeder;
    land(f, h);
    if (word == CRON_GO) {
        list_insert(&f->ready, h);
    } else if (word == CRON_SKIP) {
        metric_add(f->queue->ing->counters.cron_skipped, 1);
        FAULT("firing.skip");
        ack_source(h);
    } else {
        wait_and_retry(f, h, ERROR_WAIT_MS);
    }
    pump(f);
}

/* True: h was taken out of the ready ones to be asked about. */
static bool ask_first(struct feeder *f, struct held *h)
{
    if (h->firing == NULL || h->firing->claimed)
        return false;
    list_remove(&f->ready, h);
    if (cron_claim(h->firing, on_word, h))
        fly(f, h);
    else
        wait_and_retry(f, h, TICK_MS);
    return true;
}

static void pump(struct feeder *f)
{
    while (f->running && f->ready.head != NULL && (!f->full || f->room > 0)) {
        struct held *h = f->ready.head;
        if (ask_first(f, h))
            continue;
        ax_err err = publish(f, h);
        if (err == AX_E_BUSY)
            return; /* the tick comes back */
        list_remove(&f->ready, h);
        if (err != AX_OK) {
            wait_and_retry(f, h, ERROR_WAIT_MS);
            continue;
        }
        fly(f, h);
        f->publishing++;
        f->room--;
    }
    bool idle = f->publishing == 0 && !f->asking && !loop_timer_is_running(&f->room_timer);
    if (f->running && f->full && f->ready.head != NULL && idle) {
        if (f->progress)
            ask_room(f);
        else
            loop_timer_start(f->queue->ing->loop, &f->room_timer, f->room_delay_ms, ask_room, f);
        f->progress = false;
    }
}

static void want(struct feeder *f)
{
    puller_want(f->puller, f->running && f->held < WINDOW ? WINDOW - f->held : 0);
}

static void renew(struct feeder *f, struct list *l, int64_t now)
{
    for (struct held *h = l->head; h != NULL; h = h->next) {
        if (now - h->lease_ns < LEASE_NS)
            continue;
        wire_publish_text(f->queue->ing->wire, natsMsg_GetReply(h->msg), ACK_TEXT_PROGRESS);
        h->lease_ns = now;
    }
}

static void on_tick(void *arg)
{
    struct feeder *f = arg;
    int64_t now = loop_now_ns(f->queue->ing->loop);
    for (struct held *h = f->waiting.head, *next; h != NULL; h = next) {
        next = h->next;
        if (h->wait_until_ns > now)
            continue;
        list_remove(&f->waiting, h);
        list_insert(&f->ready, h);
    }
    renew(f, &f->ready, now);
    renew(f, &f->flying, now);
    renew(f, &f->waiting, now);
    pump(f);
    if (f->held > 0)
        loop_timer_start(f->queue->ing->loop, &f->tick, TICK_MS, on_tick, f);
}

static bool take_firing(struct held *h, const struct task *t, const struct ack_subject *ack)
{
    h->firing = malloc(sizeof(*h->firing));
    if (h->firing == NULL)
        return false;
    cron_firing_init(h->firing, h->feeder->queue->ing, t, h->msg, ack->stream_seq,
                     ack->timestamp_ns);
    h->attempt = 1;
    return true;
}

static void on_message(void *arg, natsMsg *msg)
{
    struct feeder *f = arg;
    struct ingress *ing = f->queue->ing;
    struct ack_subject ack = {0};
    struct problem p;
    struct task t = {0};
    struct held *h = calloc(1, sizeof(*h));
    const char *reply = natsMsg_GetReply(msg);
    if (reply != NULL && !f->running) { /* for a pull of ours that the server still had */
        ack_send_nak(ing->wire, reply, NAK_DELAY_MS);
        reply = NULL;
    }
    if (h == NULL || reply == NULL) {
        natsMsg_Destroy(msg);
        free(h);
        return;
    }
    if (ack_parse_subject(reply, &ack))
        clock_learn(ing->clock, ack.timestamp_ns);
    h->feeder = f;
    h->msg = msg;
    h->number = ++f->arrived;
    h->lease_ns = loop_now_ns(ing->loop);
    f->held++;
    want(f);
    if (!loop_timer_is_running(&f->tick))
        loop_timer_start(ing->loop, &f->tick, TICK_MS, on_tick, f);
    ax_err err = task_stored_read(&t, msg, &p);
    if (err == AX_E_NOMEM) {
        log_error("out of memory, task left where it is", "stream=%s subject=%s", f->source,
                  natsMsg_GetSubject(msg));
        ack_send_nak(ing->wire, reply, NAK_DELAY_MS);
        drop(f, h);
        return;
    }
    if (err != AX_OK) {
        char text[400];
        log_error("message that is no task, dropped", "stream=%s subject=%s error=%s", f->source,
                  natsMsg_GetSubject(msg), log_quote(p.text, text, sizeof(text)));
        ack_source(h);
        return;
    }
    clock_merge(ing->clock, t.submitted);
    h->attempt = t.attempt;
    if (t.cron != NULL && !take_firing(h, &t, &ack)) {
        task_clear(&t);
        ack_send_nak(ing->wire, reply, NAK_DELAY_MS);
        drop(f, h);
        return;
    }
    snprintf(h->id, sizeof(h->id), "%s", h->firing != NULL ? h->firing->id : t.id);
    task_clear(&t);
    list_insert(&f->ready, h);
    pump(f);
}

static void on_lost(void *arg)
{
    struct feeder *f = arg;
    provisioner_kick(f->queue->ing->provisioner);
}

static struct metric *metric(const struct feeder *f, const char *name, const char *help)
{
    char labels[96];
    snprintf(labels, sizeof(labels), "priority=\"%s\",from=\"%s\"", f->queue->p.name,
             strcmp(f->source, STREAM_LATER) == 0 ? "later" : "spill");
    return metrics_get(METRIC_COUNTER, name, help, labels);
}

void feeder_consumer(const char *priority, char out[NAME_MAX_CHARS + 16])
{
    snprintf(out, NAME_MAX_CHARS + 16, "feeder-%s", priority);
}

ax_err feeder_new(struct feeder **out, struct queue *queue, const char *source)
{
    struct feeder *f = calloc(1, sizeof(*f));
    char consumer[NAME_MAX_CHARS + 16];
    if (f == NULL)
        return AX_E_NOMEM;
    f->queue = queue;
    f->source = source;
    f->room_delay_ms = ROOM_FIRST_MS;
    feeder_consumer(queue->p.name, consumer);
    f->fed = metric(f, "ax_ingress_fed_total", "Tasks brought back into the queue");
    f->dropped = metric(f, "ax_ingress_fed_known_total",
                        "Tasks not brought back because the queue has them already");
    f->refused = metric(f, "ax_ingress_fed_full_total",
                        "Times a full queue refused a task that was to come back");
    struct puller_events events = {.message = on_message, .lost = on_lost, .arg = f};
    ax_err err = puller_new(&f->puller, queue->ing->wire, queue->ing->loop, source, consumer,
                            &events);
    if (err != AX_OK) {
        free(f);
        return err;
    }
    *out = f;
    return AX_OK;
}

/* Gives back what has not been started, so that another instance need not wait for the lease to
 * end. */
static void give_back(struct feeder *f, struct list *l)
{
    while (l->head != NULL) {
        struct held *h = l->head;
        list_remove(l, h);
        FAULT("feed.give-back.before");
        ack_send_nak(f->queue->ing->wire, natsMsg_GetReply(h->msg), NAK_DELAY_MS);
        FAULT_SENT("feed.give-back.after", f->queue->ing->wire);
        drop(f, h);
    }
}

void feeder_run(struct feeder *f, bool run)
{
    f->running = run;
    if (!run) {
        give_back(f, &f->ready);
        give_back(f, &f->waiting);
    }
    want(f);
}

void feeder_reconnected(struct feeder *f)
{
    puller_reconnected(f->puller);
}

int feeder_in_flight(const struct feeder *f)
{
    return f->flying_count;
}
