/* Rule 8: on start a dispatcher reads AX_WORK and adopts what it finds, so that a restart runs
 * nothing again. Hand-offs whose queue message is gone (a dispatcher died between its ack and the
 * removal) are swept. What the former dispatcher held without having handed it off is given back (a
 * nak on its behalf), so that it does not wait for its lease. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/saturate.h"
#include "bus/ack.h"
#include "bus/consumer_info.h"
#include "bus/pipeline_get.h"
#include "dispatch/attempt/adopt.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/hand_off.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"
#include "task/task_stored.h"

#define WAIT_MS 5000
#define RETRY_MS 500

struct adoption {
    struct pool *pool;
    uint64_t *seqs; /* AX_WORK sequences adopted, whose queue messages are then looked for */
    size_t count, cap, next, pending;
    int queue; /* the queue whose held messages are being given back */
    uint64_t consumer_seq;
    int64_t held; /* how many of them there are still */
    struct reader *reader;
    struct loop_timer timer;
    bool asking;  /* a consumer's info is under way */
    bool stopped; /* the pool is not ours any more: goes with its last answer */
};

struct check {
    struct adoption *adoption;
    uint64_t work_seq;
};

static void check_more(void *arg);
static void give_back_next(struct adoption *a);

static void release(struct adoption *a)
{
    if (a->pending > 0 || a->asking)
        return;
    free(a->seqs);
    free(a);
}

void adopt_stop(struct pool *p)
{
    struct adoption *a = p->lead.adoption;
    if (a == NULL)
        return;
    p->lead.adoption = NULL;
    a->stopped = true;
    loop_timer_stop(p->dispatch->loop, &a->timer);
    if (a->reader != NULL)
        reader_cancel(a->reader);
    release(a);
}

/* ---- are there dead letters of those who led before? */

struct dead_letters {
    struct pool *pool;
    int64_t led_ns;
};

static void on_letter(void *arg, ax_err err, const struct stored_msg *found)
{
    struct dead_letters *l = arg;
    (void)found;
    if (err == AX_E_NOT_FOUND && l->pool->lead.led && l->pool->lead.since_ns == l->led_ns)
        l->pool->lead.dead_letters = false;
    free(l);
}

/* A key that died before we led is looked up (hand_off.c). Without any dead letter of the pool that
 * is not needed. */
static void look_for_dead_letters(struct pool *p)
{
    struct dispatch *d = p->dispatch;
    char filter[SUBJECT_MAX_CHARS];
    p->lead.ready_ns = clock_ax_ns(&d->clock);
    p->lead.dead_letters = true;
    snprintf(filter, sizeof(filter), "ax.dead.%s.>", p->name);
    struct dead_letters *l = malloc(sizeof(*l));
    if (l == NULL)
        return;
    *l = (struct dead_letters){p, p->lead.since_ns};
    if (pipeline_get(d->pipeline, STREAM_DEAD, filter, 1, WAIT_MS, on_letter, l) != AX_OK)
        free(l);
}

static void finish(struct adoption *a)
{
    struct pool *p = a->pool;
    if (!p->lead.adopted) {
        log_info("pool ready", "pool=%s adopted=%zu", p->name, a->count);
        look_for_dead_letters(p);
    }
    p->lead.swept_ns = loop_now_ns(p->dispatch->loop);
    loop_timer_stop(p->dispatch->loop, &a->timer);
    FAULT("adopt.end");
    free(a->seqs);
    free(a);
    p->lead.adoption = NULL;
    p->lead.adopted = true;
    p->lead.ready = true;
    p->consumer.told_ns = 0;
    work_consumer_read(p);
    pump_soon(p);
}

static void on_queue_message(void *arg, ax_err err, const struct stored_msg *found)
{
    struct check *c = arg;
    struct adoption *a = c->adoption;
    struct pool *p = a->pool;
    a->pending--;
    if (a->stopped) {
        free(c);
        release(a);
        return;
    }
    /* It may have ended meanwhile by an ack, or be verified already. */
    struct attempt *found_one = attempt_of_work(p, c->work_seq);
    bool running = found_one != NULL && found_one->state == ATTEMPT_RUNNING;
    bool gone = err == AX_E_NOT_FOUND ||
                (err == AX_OK && running && found->time_ns != found_one->stored_ns);
    if (running && gone)
        attempt_on(found_one, ATTEMPT_ON_QUEUE_GONE, NULL);
    else if (running && err == AX_OK)
        attempt_on(found_one, ATTEMPT_ON_QUEUE_THERE, NULL);
    free(c);
    check_more(a);
}

/* A few at a time, so that a long list does not fill the pipeline. */
static void check_more(void *arg)
{
    struct adoption *a = arg;
    struct pool *p = a->pool;
    while (a->next < a->count && a->pending < 64) {
        uint64_t w = a->seqs[a->next];
        struct attempt *r = attempt_of_work(p, w);
        struct check *c = r != NULL ? malloc(sizeof(*c)) : NULL;
        if (c != NULL) {
            *c = (struct check){a, w};
            if (pipeline_get(p->dispatch->pipeline, r->queue->stream, NULL, r->queue_seq, WAIT_MS,
                             on_queue_message, c) != AX_OK) {
                free(c);
                loop_timer_start(p->dispatch->loop, &a->timer, RETRY_MS, check_more, a);
                return;
            }
            a->pending++;
        }
        a->next++;
    }
    if (a->next == a->count && a->pending == 0)
        give_back_next(a);
}

/* ---- what the former dispatcher held and had not handed off ---- */

static void on_queue_end(void *arg, ax_err err, uint64_t last_seq)
{
    (void)err;
    (void)last_seq;
    struct adoption *a = arg;
    a->reader = NULL;
    a->queue++;
    give_back_next(a);
}

/* The oldest messages of a queue are the held ones. A nak for one that nobody holds is ignored by
 * the server. */
static void on_held(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    (void)subject;
    (void)msg;
    struct adoption *a = arg;
    struct queue *q = a->pool->queues[a->queue];
    char ack[SUBJECT_MAX_CHARS];
    if (attempt_of_message(q, seq) != NULL)
        return;
    /* The server goes by the stream's sequence; consumer sequence 1 is within its bounds check only
     * while nothing was acked, so the highest delivered one is named. */
    snprintf(ack, sizeof(ack), "$JS.ACK.%s.%s.1.%" PRIu64 ".%" PRIu64 ".%" PRId64 ".0", q->stream,
             a->pool->name, seq, a->consumer_seq, time_ns);
    FAULT("adopt.give-back.before");
    ack_send_nak(a->pool->dispatch->wire, ack, 0);
    FAULT_SENT("adopt.give-back.after", a->pool->dispatch->wire);
    if (--a->held <= 0) {
        reader_cancel(a->reader);
        on_queue_end(a, AX_OK, seq);
    }
}

static void on_queue_info(void *arg, ax_err err, const struct consumer_info *info)
{
    struct adoption *a = arg;
    struct pool *p = a->pool;
    a->asking = false;
    if (a->stopped) {
        release(a);
        return;
    }
    struct queue *q = p->queues[a->queue];
    char filter[SUBJECT_MAX_CHARS];
    a->held = err == AX_OK ? info->num_ack_pending - (int64_t)HASH_CNT(by_seq, q->attempts) : 0;
    a->consumer_seq = err == AX_OK ? info->delivered_consumer_seq : 0;
    snprintf(filter, sizeof(filter), "ax.queue.%s.%s.>", q->priority, p->name);
    struct reader_events events = {on_held, on_queue_end, a};
    if (a->held <= 0 || reader_start(&a->reader, p->dispatch->pipeline, p->dispatch->loop,
                                     q->stream, filter, 1, &events) != AX_OK)
        on_queue_end(a, AX_OK, 0); /* without it they wait for their lease */
}

static void give_back_next(struct adoption *a)
{
    struct pool *p = a->pool;
    struct dispatch *d = p->dispatch;
    if (a->queue == p->queue_count) {
        finish(a);
        return;
    }
    a->asking = consumer_info_get(d->pipeline, d->loop, p->queues[a->queue]->stream, p->name,
                                  WAIT_MS, on_queue_info, a) == AX_OK;
    if (!a->asking)
        finish(a);
}

static bool keep(struct adoption *a, uint64_t w)
{
    if (a->count == a->cap) {
        size_t cap = a->cap == 0 ? 256 : a->cap * 2;
        uint64_t *grown = realloc(a->seqs, cap * sizeof(*grown));
        if (grown == NULL)
            return false;
        a->seqs = grown;
        a->cap = cap;
    }
    a->seqs[a->count++] = w;
    return true;
}

static void on_work_message(void *arg, const char *subject, uint64_t seq, int64_t time_ns,
                            natsMsg *msg)
{
    static struct log_gate stray, lost;
    struct adoption *a = arg;
    struct pool *p = a->pool;
    struct task_subject s;
    struct ack_subject lease;
    struct task t = {0};
    const char *value = NULL;
    clock_learn(&p->dispatch->clock, time_ns);
    if (!name_parse_task_subject(subject, &s) ||
        natsMsgHeader_Get(msg, HDR_LEASE, &value) != NATS_OK || !ack_parse_subject(value, &lease)) {
        log_limited(&stray, loop_now_ns(p->dispatch->loop), LOG_WARN,
                    "stray message in AX_WORK, left alone", "subject=%s seq=%" PRIu64, subject,
                    seq);
        return;
    }
    struct queue *q = queue_of_stream(p, lease.stream);
    if (q == NULL || !ack_parse_subject_of(value, q->stream, p->name, &lease)) {
        log_limited(&lost, loop_now_ns(p->dispatch->loop), LOG_WARN,
                    "hand-off of a queue that is not the pool's, left alone",
                    "pool=%s stream=%s seq=%" PRIu64, p->name, q != NULL ? q->stream : "", seq);
        return;
    }
    if (attempt_of_message(q, lease.stream_seq) != NULL ||
        task_stored_read_at(&t, subject, msg, NULL) != AX_OK)
        return; /* a second hand-off of the same queue message: the first leads */
    struct attempt *r = attempt_adopt(q, &t, value, lease.stream_seq, lease.timestamp_ns, seq);
    if (r != NULL) {
        int64_t ran_ns = saturate_sub(clock_ax_ns(&p->dispatch->clock), time_ns);
        r->hand_off.time.stored_ns = time_ns;
        acks_refuse_misfits(r);
        r->hand_off.at_ns = saturate_sub(loop_now_ns(p->dispatch->loop), ran_ns);
        hand_off_limit(r, ran_ns / 1000000);
        FAULT("adopt.renew.before");
        attempt_renew(r);
        FAULT_SENT("adopt.renew.after", p->dispatch->wire);
        keep(a, seq);
    }
}

static void on_work_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct adoption *a = arg;
    a->reader = NULL;
    if (err == AX_OK)
        acks_note_seq(a->pool, last_seq); /* what a former leader handed off is not higher */
    check_more(a);
}

void adopt_start(struct pool *p)
{
    struct dispatch *d = p->dispatch;
    char filter[SUBJECT_MAX_CHARS];
    struct adoption *a = calloc(1, sizeof(*a));
    snprintf(filter, sizeof(filter), "ax.work.%s.>", p->name);
    struct reader_events events = {on_work_message, on_work_end, a};
    if (a == NULL)
        return; /* adopt_retry comes by */
    a->pool = p;
    if (reader_start(&a->reader, d->pipeline, d->loop, STREAM_WORK, filter, 1, &events) != AX_OK)
        free(a);
    else
        p->lead.adoption = a;
}

void adopt_retry(struct pool *p)
{
    if (p->lead.led && !p->lead.adopted && p->lead.adoption == NULL && p->consumer.provisioned)
        adopt_start(p);
}

void adopt_sweep(struct pool *p)
{
    if (p->lead.ready && !p->lead.resting && p->lead.adoption == NULL)
        adopt_start(p);
}
