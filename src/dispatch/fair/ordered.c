#include "dispatch/fair/ordered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bus/pipeline_get.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/pool/pool.h"
#include "task/task_stored.h"

#define WAIT_MS 3000
#define REBUILD_AGAIN_MS 250
#define CHECK_NS 2000000000LL /* how long somebody is waited for before he is looked for */
#define CHECKS_MAX 64         /* under way */

/* What is read: AX_LATER, then the queues, in the order in which a retry moves, so that it cannot
 * slip past. */
struct rebuild {
    struct pool *pool;
    struct reader *reader;
    int next; /* queue to read after this stream */
};

static void start_rebuild(struct pool *p);
static void on_rebuild_timer(void *arg);

/* ---- places ---- */

static void unlink_slot(struct order_slot *s)
{
    struct group_queue *l = s->group_queue;
    *(s->prev != NULL ? &s->prev->next : &l->first) = s->next;
    *(s->next != NULL ? &s->next->prev : &l->last) = s->prev;
    s->prev = s->next = NULL;
}

static bool is_before(const struct order_slot *a, const struct order_slot *b)
{
    return a->retry != b->retry ? a->retry : a->seq < b->seq;
}

/* New ones come at the end, retries at the beginning: both are found at once. */
static void link_slot(struct order_slot *s)
{
    struct group_queue *l = s->group_queue;
    struct order_slot *after = s->retry ? NULL : l->last, *before = s->retry ? l->first : NULL;
    if (s->retry) {
        while (before != NULL && is_before(before, s))
            before = before->next;
        after = before != NULL ? before->prev : l->last;
    } else {
        while (after != NULL && is_before(s, after))
            after = after->prev;
        before = after != NULL ? after->next : l->first;
    }
    s->prev = after;
    s->next = before;
    *(after != NULL ? &after->next : &l->first) = s;
    *(before != NULL ? &before->prev : &l->last) = s;
}

static struct order_slot *put_slot(struct group_queue *l, uint64_t seq, bool retry)
{
    struct queue *q = l->queue;
    struct order_slot *s = NULL;
    HASH_FIND(hh, q->slots, &seq, sizeof(seq), s);
    if (s == NULL) {
        s = calloc(1, sizeof(*s));
        if (s == NULL)
            return NULL;
        s->seq = seq;
        s->retry = retry;
        s->group_queue = l;
        HASH_ADD(hh, q->slots, seq, sizeof(s->seq), s);
        link_slot(s);
    }
    s->rebuild = q->pool->order.rebuilds;
    return s;
}

static void free_slot(struct order_slot *s)
{
    HASH_DEL(s->group_queue->queue->slots, s);
    if (!s->ended)
        unlink_slot(s);
    free(s);
}

/* ---- blockers ---- */

static struct pending_retry *find_pending_retry(const struct group_queue *l, const char *id)
{
    struct pending_retry *b = NULL;
    HASH_FIND_STR(l->pending_retries, id, b);
    return b;
}

static void block(struct group_queue *l, const char *id, bool again)
{
    struct pending_retry *b = find_pending_retry(l, id);
    if (b == NULL) {
        b = calloc(1, sizeof(*b));
        if (b == NULL) {
            /* those behind it would overtake it */
            memory_fatal("what holds up an ordered group");
        }
        snprintf(b->id, sizeof(b->id), "%s", id);
        HASH_ADD_STR(l->pending_retries, id, b);
        l->blocking++;
        l->stuck_ns = loop_now_ns(l->queue->pool->dispatch->loop);
    } else if (b->ended && again) {
        b->ended = false;
        l->blocking++;
    }
    b->rebuild = l->queue->pool->order.rebuilds;
}

static void unblock(struct group_queue *l, const char *id)
{
    struct pending_retry *b = find_pending_retry(l, id);
    if (b == NULL || b->ended)
        return;
    l->blocking--;
    if (l->queue->pool->order.rebuild != NULL) {
        b->ended = true;
        return;
    }
    HASH_DEL(l->pending_retries, b);
    free(b);
}

/* ---- whose turn ---- */

static void let_go(struct group_queue *l)
{
    struct pool *p = l->queue->pool;
    struct order_slot *s = l->first;
    if (!p->order.known || l->released > 0 || s == NULL || s->run == NULL ||
        s->run->state != ATTEMPT_WAITING)
        return;
    struct pending_retry *b = find_pending_retry(l, s->run->task.id);
    if (l->blocking > 0 && (b == NULL || b->ended))
        return;
    s->run->turn.released = true;
    l->released++;
    group_queue_add(s->run, false);
    pool_pump(p);
}

static void let_all_go(struct pool *p)
{
    struct group *g, *next;
    HASH_ITER(hh, p->groups, g, next) {
        for (struct group_queue *l = g->queues; l != NULL; l = l->next)
            let_go(l);
    }
}

bool ordered_join(struct attempt *r, bool running)
{
    struct group_queue *l = group_queue_of(r->turn.group, r->queue);
    struct order_slot *s = put_slot(l, r->queue_seq, r->task.attempt > 1);
    if (s == NULL)
        return false;
    if (s->ended) { /* it has come again, although it had ended: as a new one */
        s->ended = false;
        link_slot(s);
    }
    s->run = r;
    r->turn.slot = s;
    l->stuck_ns = loop_now_ns(r->pool->dispatch->loop);
    if (running) {
        r->turn.released = true;
        l->released++;
    }
    if (!r->pool->order.known && r->pool->order.rebuild == NULL)
        start_rebuild(r->pool);
    return true;
}

void ordered_leave(struct attempt *r)
{
    struct order_slot *s = r->turn.slot;
    if (s == NULL)
        return;
    struct group_queue *l = s->group_queue;
    r->turn.slot = NULL;
    if (r->turn.released)
        l->released--;
    if (r->end.next_attempt)
        block(l, r->task.id, true);
    else
        unblock(l, r->task.id);
    s->run = NULL;
    if (r->pool->order.rebuild != NULL) {
        unlink_slot(s);
        s->ended = true;
    } else {
        free_slot(s);
    }
    l->stuck_ns = loop_now_ns(r->pool->dispatch->loop);
    let_go(l);
}

void ordered_keep(struct attempt *r)
{
    struct order_slot *s = r->turn.slot;
    if (s == NULL)
        return;
    if (r->turn.released)
        s->group_queue->released--;
    r->turn.released = false;
    s->run = NULL;
    r->turn.slot = NULL;
    s->group_queue->stuck_ns = loop_now_ns(r->pool->dispatch->loop);
}

bool ordered_holds(struct attempt *r)
{
    if (r->turn.slot == NULL || r->turn.released)
        return false;
    let_go(r->turn.slot->group_queue);
    return true;
}

bool ordered_remembers(const struct group_queue *l)
{
    return l->first != NULL || l->pending_retries != NULL;
}

/* ---- the survey ---- */

static void take(struct pool *p, const char *subject, uint64_t seq, natsMsg *msg)
{
    struct task_subject names;
    struct task t = {0};
    const char *ordered = NULL;
    if (natsMsgHeader_Get(msg, HDR_ORDERED, &ordered) != NATS_OK ||
        !name_parse_task_subject(subject, &names) ||
        task_stored_read_at(&t, subject, msg, NULL) != AX_OK)
        return;
    struct queue *q = queue_of(p, names.priority);
    struct group_queue *l = q != NULL && t.ordered && t.group != NULL ? groups_queue(q, t.group)
                                                                      : NULL;
    if (l != NULL && strcmp(names.stage, "queue") != 0)
        block(l, names.id, false);
    else if (l != NULL && put_slot(l, seq, t.attempt > 1) == NULL)
        memory_fatal("the order of a group");
    task_clear(&t);
}

static void on_message(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    struct rebuild *s = arg;
    (void)time_ns;
    take(s->pool, subject, seq, msg);
}

/* What this survey did not see, and what was there before it, is not there any more. */
static void tidy(struct pool *p)
{
    struct group *g, *next;
    struct order_slot *s, *other;
    struct pending_retry *b, *another;
    for (int i = 0; i < p->queue_count; i++) {
        HASH_ITER(hh, p->queues[i]->slots, s, other) {
            if (s->ended || (s->run == NULL && s->rebuild != p->order.rebuilds))
                free_slot(s);
        }
    }
    HASH_ITER(hh, p->groups, g, next) {
        for (struct group_queue *l = g->queues; l != NULL; l = l->next) {
            HASH_ITER(hh, l->pending_retries, b, another) {
                if (!b->ended && b->rebuild == p->order.rebuilds)
                    continue;
                l->blocking -= !b->ended;
                HASH_DEL(l->pending_retries, b);
                free(b);
            }
        }
    }
}

static void on_end(void *arg, ax_err err, uint64_t last_seq);

static void read_next(struct rebuild *s)
{
    struct pool *p = s->pool;
    struct dispatch *d = p->dispatch;
    char filter[SUBJECT_MAX_CHARS];
    const char *stream = STREAM_LATER;
    struct reader_events events = {on_message, on_end, s};
    if (s->next > p->queue_count) {
        p->order.rebuild = NULL;
        free(s);
        tidy(p);
        if (p->order.invalid)
            start_rebuild(p);
        else
            p->order.known = true;
        let_all_go(p);
        return;
    }
    if (s->next == 0)
        snprintf(filter, sizeof(filter), "ax.*.*.%s.>", p->name);
    else {
        struct queue *q = p->queues[s->next - 1];
        stream = q->stream;
        snprintf(filter, sizeof(filter), "ax.queue.%s.%s.>", q->priority, p->name);
    }
    s->next++;
    if (reader_start(&s->reader, d->pipeline, d->loop, stream, filter, 1, &events) != AX_OK) {
        p->order.rebuild = NULL;
        free(s);
        loop_timer_start(d->loop, &p->order.timer, REBUILD_AGAIN_MS, on_rebuild_timer, p);
    }
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    (void)last_seq;
    struct rebuild *s = arg;
    s->reader = NULL;
    if (err != AX_OK)
        s->pool->order.invalid = true;
    read_next(s);
}

static void on_rebuild_timer(void *arg)
{
    struct pool *p = arg;
    struct rebuild *s = p->lead.ready && p->order.rebuild == NULL ? calloc(1, sizeof(*s)) : NULL;
    if (s == NULL) {
        if (p->lead.led && p->order.rebuild == NULL) {
            loop_timer_start(p->dispatch->loop, &p->order.timer, REBUILD_AGAIN_MS, on_rebuild_timer,
                             p);
        }
        return;
    }
    s->pool = p;
    p->order.rebuild = s;
    p->order.rebuilds++;
    p->order.invalid = false;
    read_next(s);
}

/* A little later, for all that is doubted by then. Not before AX_WORK is adopted: a retry moves
 * from there to AX_LATER. */
static void start_rebuild(struct pool *p)
{
    if (!loop_timer_is_running(&p->order.timer)) {
        loop_timer_start(p->dispatch->loop, &p->order.timer,
                         p->order.rebuilds == p->order.led_rebuilds ? 0 : REBUILD_AGAIN_MS,
                         on_rebuild_timer, p);
    }
}

void ordered_invalidate(struct queue *q)
{
    struct pool *p = q->pool;
    if (!p->order.known && p->order.rebuild == NULL)
        return; /* it is not known anyway */
    p->order.known = false;
    p->order.invalid = true;
    if (p->order.rebuild == NULL)
        start_rebuild(p);
}

void ordered_heard(struct queue *q, uint64_t consumer_seq)
{
    bool gap = consumer_seq != q->heard_cseq + 1;
    q->heard_cseq = consumer_seq;
    if (gap)
        ordered_invalidate(q);
}

void ordered_forget(struct pool *p)
{
    struct group *g, *next;
    struct order_slot *s, *other;
    struct pending_retry *b, *another;
    loop_timer_stop(p->dispatch->loop, &p->order.timer);
    if (p->order.rebuild != NULL) {
        reader_cancel(p->order.rebuild->reader);
        free(p->order.rebuild);
        p->order.rebuild = NULL;
    }
    p->order.known = p->order.invalid = false;
    for (int i = 0; i < p->queue_count; i++) {
        HASH_ITER(hh, p->queues[i]->slots, s, other) {
            if (s->run != NULL)
                s->run->turn.slot = NULL;
            free_slot(s);
        }
    }
    HASH_ITER(hh, p->groups, g, next) {
        for (struct group_queue *l = g->queues; l != NULL; l = l->next) {
            l->released = 0;
            l->blocking = 0;
            HASH_ITER(hh, l->pending_retries, b, another) {
                HASH_DEL(l->pending_retries, b);
                free(b);
            }
        }
    }
}

/* ---- who never comes: removed by an operator, or cancelled while it waited ---- */

struct check {
    struct pool *pool;
    /* the surveys there had been when we began to lead: another leadership, another order */
    uint32_t leading;
    char priority[NAME_MAX_CHARS + 1];
    char group[GROUP_MAX_BYTES + 1];
    char id[TASK_ID_CHARS + 1]; /* of a blocker; "": a place */
    uint64_t seq;
};

static struct group_queue *line_of(const struct check *c)
{
    struct pool *p = c->pool;
    struct queue *q = queue_of(p, c->priority);
    struct group *g = NULL;
    HASH_FIND_STR(p->groups, c->group, g);
    return p->lead.led && p->order.led_rebuilds == c->leading && q != NULL && g != NULL
               ? group_queue_of(g, q)
               : NULL;
}

static void conclude(struct check *c, bool gone)
{
    struct group_queue *l = line_of(c);
    struct attempt *r = NULL;
    struct order_slot *s = NULL;
    c->pool->order.checks--;
    if (l != NULL && gone && c->id[0] != '\0') {
        HASH_FIND(by_id, c->pool->by_id, c->id, strlen(c->id), r);
        if (r == NULL)
            unblock(l, c->id);
    } else if (l != NULL && gone) {
        HASH_FIND(hh, l->queue->slots, &c->seq, sizeof(c->seq), s);
        if (s != NULL && s->run == NULL && !s->ended)
            free_slot(s);
    }
    if (l != NULL)
        let_go(l);
    free(c);
}

static void on_queue_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    (void)found;
    conclude(arg, err == AX_E_NOT_FOUND);
}

static void on_later_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    struct check *c = arg;
    (void)found;
    char subject[SUBJECT_MAX_CHARS];
    const struct queue *q = queue_of(c->pool, c->priority);
    name_subject(subject, "queue", c->priority, c->pool->name, c->id);
    if (err != AX_E_NOT_FOUND || q == NULL ||
        pipeline_get(c->pool->dispatch->pipeline, q->stream, subject, 0, WAIT_MS, on_queue_looked,
                     c) != AX_OK)
        conclude(c, false);
}

static void check(struct group_queue *l)
{
    struct pool *p = l->queue->pool;
    struct pending_retry *b, *next;
    struct check *c = calloc(1, sizeof(*c));
    char subject[SUBJECT_MAX_CHARS];
    ax_err err = AX_E_NOMEM;
    if (c == NULL)
        return;
    c->pool = p;
    c->leading = p->order.led_rebuilds;
    snprintf(c->priority, sizeof(c->priority), "%s", l->queue->priority);
    snprintf(c->group, sizeof(c->group), "%s", l->group->name);
    HASH_ITER(hh, l->pending_retries, b, next) {
        if (!b->ended && c->id[0] == '\0')
            snprintf(c->id, sizeof(c->id), "%s", b->id);
    }
    if (c->id[0] != '\0') {
        snprintf(subject, sizeof(subject), "ax.*.*.%s.%s", p->name, c->id);
        err = pipeline_get(p->dispatch->pipeline, STREAM_LATER, subject, 0, WAIT_MS,
                           on_later_looked, c);
    } else if (l->first != NULL && l->first->run == NULL) {
        c->seq = l->first->seq;
        err = pipeline_get(p->dispatch->pipeline, l->queue->stream, NULL, c->seq, WAIT_MS,
                           on_queue_looked, c);
    }
    if (err != AX_OK)
        free(c);
    else
        p->order.checks++;
}

void ordered_tick(struct pool *p)
{
    struct group *g, *next;
    int64_t now = loop_now_ns(p->dispatch->loop);
    if (!p->order.known)
        return;
    HASH_ITER(hh, p->groups, g, next) {
        for (struct group_queue *l = g->queues; l != NULL; l = l->next) {
            bool stuck = l->released == 0 &&
                         (l->blocking > 0 || (l->first != NULL && l->first->run == NULL));
            if (stuck && now - l->stuck_ns >= CHECK_NS && p->order.checks < CHECKS_MAX) {
                l->stuck_ns = now;
                check(l);
            }
        }
    }
}
