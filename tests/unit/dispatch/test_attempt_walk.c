/* A random walk of a million events over the table of an attempt's moves, in a little world: one
 * task, its queue message, its hand-offs, a worker, somebody who forges acks, a dispatcher that
 * others take over from, and a server that loses answers. After every event the rules of
 * docs/design/attempts.md are asserted. For each rule a row of the table is broken, and the walk
 * must find that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/attempt_moves.h"

#define EVENTS 1000000
#define MUTANT_EVENTS 3000000
#define HAND_OFFS_MAX 64
#define FAILURES_MAX 2
#define ATTEMPTS_MAX 4
#define EPISODE_EVENTS 300
#define SETTLING_EVENTS 4000

enum worker { IDLE, BUSY, ACKED, NAKKED, TERMED };

struct hand_off {
    int from; /* sequence of its queue message */
    int epoch;
    bool there, known; /* in AX_WORK; known to this leader */
    bool superseded;   /* its attempt was given up before the worker's word */
    bool honoured;     /* remembered by this leader as superseded */
    bool doubted;      /* this leader heard an ack of it that does not fit */
    bool hears;        /* this leader handed it off, and heard every word of it since */
    bool removed;      /* somebody deleted it */
    enum worker worker;
    enum attempt_event pending; /* heard, not handled; 0: nothing */
};

/* What stands at the server. */
struct world {
    int queue_seq, queue_attempt; /* 0: no queue message */
    bool delivered_before;
    int later, later_from;
    int dead_from; /* 0: no dead letter */
    bool record, cancelled;
    int seqs, epoch, hand_offs;
    struct hand_off hand_off[HAND_OFFS_MAX];
};

/* The attempt as the dispatcher that leads has it. */
struct held {
    bool here;
    enum attempt_state state;
    int queue_seq, attempt, hand_off; /* hand_off: index + 1 */
    bool redelivered, content, decided, written, replaces;
    enum attempt_end kind;
    enum attempt_action asked; /* DO_NOTHING: nothing */
    bool executed;
    enum attempt_event answer;
    int answer_hand_off;
};

struct walk {
    const struct attempt_move *table;
    size_t rows;
    uint64_t random;
    struct world w;
    struct held a;
    bool took_over, known_done, unrecorded, heard_ack, alarmed, settling,
        moved[ATTEMPT_STATE_COUNT];
    const char *broken; /* the rule that was broken */
};

static unsigned pick(struct walk *k, unsigned n)
{
    k->random ^= k->random >> 12;
    k->random ^= k->random << 25;
    k->random ^= k->random >> 27;
    return (unsigned)((k->random * 2685821657736338717ULL) >> 33) % n;
}

static void require(struct walk *k, bool holds, const char *rule)
{
    if (!holds && k->broken == NULL)
        k->broken = rule;
}

static struct hand_off *own(struct walk *k)
{
    return k->a.hand_off != 0 ? &k->w.hand_off[k->a.hand_off - 1] : NULL;
}

/* ---- the dispatcher: facts and actions ---- */

static unsigned facts(const struct walk *k)
{
    const struct held *a = &k->a;
    /* Failures and time-outs have limits of their own. */
    int most = a->kind == END_FAILED ? FAILURES_MAX : ATTEMPTS_MAX;
    bool enough = a->kind == END_BURIED || (a->kind != END_GIVEN_BACK && a->attempt >= most);
    bool unheard = a->hand_off != 0 && k->w.hand_off[a->hand_off - 1].hears;
    bool doubted = a->hand_off != 0 ? k->w.hand_off[a->hand_off - 1].doubted : k->alarmed;
    return (a->attempt > 1 || a->redelivered ? ATTEMPT_IS_REPEATED : 0u) |
           (k->took_over ? ATTEMPT_IS_FROM_BEFORE | ATTEMPT_IS_UNREAD : 0u) |
           (k->known_done ? ATTEMPT_IS_HEARD : 0u) | (k->unrecorded ? ATTEMPT_IS_UNRECORDED : 0u) |
           (a->content ? ATTEMPT_IS_IN_MEMORY : 0u) | (a->attempt > 1 ? ATTEMPT_IS_RETRY : 0u) |
           (a->hand_off != 0 ? ATTEMPT_IS_HANDED_OFF : 0u) | (doubted ? ATTEMPT_IS_DOUBTED : 0u) |
           (unheard ? ATTEMPT_IS_UNHEARD : 0u) | (a->decided ? ATTEMPT_IS_DECIDED : 0u) |
           (a->decided && a->kind == END_DONE ? ATTEMPT_IS_DONE : 0u) |
           (a->kind == END_TIMED_OUT ? ATTEMPT_IS_TIMED_OUT : 0u) |
           (a->written ? ATTEMPT_IS_WRITTEN : 0u) | (enough ? ATTEMPT_IS_ENOUGH : 0u);
}

static void on(struct walk *k, enum attempt_event event, enum attempt_end kind);

static void supersede(struct walk *k)
{
    if (own(k) != NULL)
        own(k)->superseded = true;
}

static void note_hand_off(struct walk *k)
{
    k->a.hand_off = k->a.answer_hand_off;
    own(k)->known = true;
    k->a.content = false;
}

/* The writer repeats the record until it is stored; until then the ack is remembered. */
static void honour(struct walk *k)
{
    k->w.record = k->known_done = k->unrecorded = true;
}

static void take_pending(struct walk *k)
{
    enum attempt_event event = own(k) != NULL ? own(k)->pending : 0;
    if (event == 0)
        return;
    own(k)->pending = 0;
    on(k, event,
       event == ATTEMPT_ON_ACK   ? END_DONE
       : event == ATTEMPT_ON_NAK ? END_FAILED
                                 : END_BURIED);
}

static void remove_hand_off(struct walk *k)
{
    struct hand_off *h = own(k);
    require(k, h != NULL && h->from != k->w.queue_seq,
            "1: a hand-off is removed while its queue message is stored");
    if (h != NULL)
        h->there = false;
}

static void forget(struct walk *k)
{
    k->a = (struct held){0};
}

static void act(struct walk *k, enum attempt_action action, enum attempt_end kind)
{
    struct held *a = &k->a;
    switch (action) {
    case ATTEMPT_DO_DECIDE:
        a->kind = kind;
        a->decided = true;
        a->written = false;
        if (kind != END_DONE)
            supersede(k);
        break;
    case ATTEMPT_DO_NOTE_WRITTEN:
        a->written = true;
        break;
    case ATTEMPT_DO_BEGIN:
    case ATTEMPT_DO_BEGIN_AGAIN:
        note_hand_off(k);
        break;
    case ATTEMPT_DO_TAKE_PENDING:
        take_pending(k);
        break;
    case ATTEMPT_DO_REMOVE_HAND_OFF:
        remove_hand_off(k);
        break;
    case ATTEMPT_DO_SUPERSEDE:
        if (own(k) != NULL)
            own(k)->honoured = true;
        break;
    case ATTEMPT_DO_HONOUR:
        honour(k);
        break;
    case ATTEMPT_DO_LOSE:
        a->hand_off = 0;
        a->redelivered = true;
        break;
    case ATTEMPT_DO_TELL_NOT_CANCELLED:
        a->decided = false;
        break;
    case ATTEMPT_DO_ACK_DONE:
    case ATTEMPT_DO_ACK_DROPPED:
        if (pick(k, 8) != 0 && k->w.queue_seq == a->queue_seq)
            k->w.queue_seq = 0; /* sent without waiting: it may be lost */
        break;
    case ATTEMPT_DO_FORGET:
        forget(k);
        break;
    case ATTEMPT_DO_PUBLISH: /* one that was sent when the ack is heard runs */
        require(k, !k->w.record || !k->known_done, "5: it starts although its ack is recorded");
        a->asked = action;
        a->executed = false;
        break;
    case ATTEMPT_DO_READ_DEAD:
    case ATTEMPT_DO_CATCH_UP:
    case ATTEMPT_DO_READ_RECORD:
    case ATTEMPT_DO_READ_CONTENT:
    case ATTEMPT_DO_READ_HAND_OFF:
    case ATTEMPT_DO_READ_CONSUMER:
    case ATTEMPT_DO_READ_STREAM:
    case ATTEMPT_DO_READ_QUEUE:
    case ATTEMPT_DO_READ_TERMINATION:
    case ATTEMPT_DO_RECORD:
    case ATTEMPT_DO_WRITE_RETRY:
    case ATTEMPT_DO_WRITE_DEAD_LETTER:
    case ATTEMPT_DO_READ_PLACE:
    case ATTEMPT_DO_RELEASE:
        a->asked = action;
        a->executed = false;
        break;
    default:
        break; /* nothing that this world has */
    }
}

static void on(struct walk *k, enum attempt_event event, enum attempt_end kind)
{
    const struct attempt_move *m;
    struct hand_off *h = own(k);
    bool answer = event >= ATTEMPT_ON_QUEUE_THERE && event <= ATTEMPT_ON_FINISHED;
    if (answer && attempt_state_is_verifying(k->a.state) && h != NULL && h->pending != 0)
        event = ATTEMPT_ON_HEARD_MEANWHILE;
    do {
        m = attempt_moves_find_in(k->table, k->rows, k->a.state, event, facts(k));
        if (m == NULL) {
            require(k, false, "an event has no move");
            return;
        }
        k->moved[k->a.state] = true;
        if (m->to != ATTEMPT_STATE_COUNT)
            k->a.state = m->to;
        for (int i = 0; i < ATTEMPT_MOVE_ACTIONS && m->actions[i] != 0; i++)
            act(k, m->actions[i], kind);
        event = ATTEMPT_ON_STEP;
    } while (m->to != ATTEMPT_STATE_COUNT && attempt_state_is_choice(m->to));
}

/* ---- the server: carries out what was asked ---- */

static void store_hand_off(struct walk *k)
{
    struct world *w = &k->w;
    for (int i = 0; i < w->hand_offs; i++) {
        struct hand_off *h = &w->hand_off[i];
        if (h->epoch == w->epoch && h->from == k->a.queue_seq) { /* the same message id */
            h->hears = false;
            k->a.answer = ATTEMPT_ON_DUPLICATE;
            k->a.answer_hand_off = i + 1;
            return;
        }
        bool ended = h->worker == ACKED || h->worker == TERMED;
        require(k, !ended || h->superseded || h->epoch != w->epoch,
                "3, 7: it runs again after the worker's word");
    }
    require(k, w->dead_from == 0, "5: it starts although it is dead");
    if (w->hand_offs == HAND_OFFS_MAX) {
        k->a.answer = ATTEMPT_ON_NO_ANSWER;
        return;
    }
    w->hand_off[w->hand_offs++] = (struct hand_off){
        .from = k->a.queue_seq, .epoch = w->epoch, .there = true, .hears = true};
    k->a.answer = ATTEMPT_ON_STORED;
    k->a.answer_hand_off = w->hand_offs;
}

static void store_retry(struct walk *k)
{
    struct world *w = &k->w;
    int from = k->a.queue_seq;
    k->a.answer = ATTEMPT_ON_STORED;
    if (w->later_from == from)
        return; /* the same message id */
    if (w->later != 0 && !k->a.replaces) {
        k->a.answer = ATTEMPT_ON_PLACE_TAKEN;
        return;
    }
    require(k, w->dead_from != from, "2, 3: two ends of one attempt");
    w->later = k->a.attempt + 1;
    w->later_from = from;
}

/* Beside a retry that a former leader wrote, too: a dead key does not start. */
static void store_dead_letter(struct walk *k)
{
    k->w.dead_from = k->a.queue_seq;
    k->known_done = true;
    k->a.answer = ATTEMPT_ON_STORED;
}

static void store_record(struct walk *k)
{
    bool acked = false;
    for (int i = 0; i < k->w.hand_offs; i++) {
        const struct hand_off *h = &k->w.hand_off[i];
        /* who deleted it is not told apart where a word of it may have been missed */
        acked = acked || h->worker == ACKED || (h->removed && !h->hears);
    }
    require(k, acked, "6, 7: recorded as done, and no worker acked it");
    k->w.record = true;
    k->known_done = true;
    k->a.answer = ATTEMPT_ON_RECORDED;
}

static void release(struct walk *k)
{
    if (k->w.queue_seq == k->a.queue_seq)
        k->w.queue_seq = 0;
    if (k->a.kind == END_CANCELLED)
        k->w.cancelled = true;
    k->a.answer = ATTEMPT_ON_RELEASED;
}

static enum attempt_event dead_letter(const struct walk *k)
{
    return k->w.dead_from == 0                ? ATTEMPT_ON_DEAD_NONE
           : k->w.dead_from == k->a.queue_seq ? ATTEMPT_ON_DEAD_OWN
                                              : ATTEMPT_ON_DEAD_KEY;
}

/* What the consumer's info says: of one that nobody fetched, of one that a worker has had. */
static enum attempt_event delivery(struct walk *k, const struct hand_off *h)
{
    if (h->worker == IDLE) {
        bool back = h->removed || (!k->settling && pick(k, 6) == 0);
        return back ? ATTEMPT_ON_NOT_FETCHED : ATTEMPT_ON_STILL_WAITS;
    }
    return h->worker == NAKKED || pick(k, 2) == 0 ? ATTEMPT_ON_SILENT : ATTEMPT_ON_STILL_WAITS;
}

static void execute(struct walk *k)
{
    struct held *a = &k->a;
    struct world *w = &k->w;
    const struct hand_off *h = own(k);
    bool queued = w->queue_seq == a->queue_seq;
    a->executed = true;
    switch (a->asked) {
    case ATTEMPT_DO_PUBLISH:
        store_hand_off(k);
        break;
    case ATTEMPT_DO_WRITE_RETRY:
        store_retry(k);
        break;
    case ATTEMPT_DO_WRITE_DEAD_LETTER:
        store_dead_letter(k);
        break;
    case ATTEMPT_DO_RECORD:
        store_record(k);
        break;
    case ATTEMPT_DO_RELEASE:
        release(k);
        break;
    case ATTEMPT_DO_READ_DEAD:
        a->answer = dead_letter(k);
        break;
    case ATTEMPT_DO_CATCH_UP:
        k->known_done = k->known_done || w->record;
        a->answer = ATTEMPT_ON_CAUGHT_UP;
        break;
    case ATTEMPT_DO_READ_RECORD:
        a->answer = w->record ? ATTEMPT_ON_RECORD_DONE : ATTEMPT_ON_RECORD_NONE;
        break;
    case ATTEMPT_DO_READ_CONTENT:
        a->answer = queued ? ATTEMPT_ON_CONTENT : ATTEMPT_ON_QUEUE_GONE;
        break;
    case ATTEMPT_DO_READ_HAND_OFF:
        a->answer = h->there && h->epoch == w->epoch ? ATTEMPT_ON_HAND_OFF_THERE
                                                     : ATTEMPT_ON_HAND_OFF_GONE;
        break;
    case ATTEMPT_DO_READ_CONSUMER:
        a->answer = delivery(k, h);
        break;
    case ATTEMPT_DO_READ_STREAM:
        a->answer = h->epoch == w->epoch ? ATTEMPT_ON_SAME_STREAM : ATTEMPT_ON_OTHER_STREAM;
        break;
    case ATTEMPT_DO_READ_QUEUE:
        a->answer = queued ? ATTEMPT_ON_QUEUE_THERE : ATTEMPT_ON_QUEUE_GONE;
        break;
    case ATTEMPT_DO_READ_TERMINATION:
        a->answer = h != NULL && h->worker == TERMED ? ATTEMPT_ON_TERMINATED : ATTEMPT_ON_FINISHED;
        break;
    case ATTEMPT_DO_READ_PLACE:
        a->replaces = w->later != 0 && w->later <= a->attempt;
        a->answer = w->later == 0 ? ATTEMPT_ON_NO_ANSWER
                    : a->replaces ? ATTEMPT_ON_PLACE_BEHIND
                                  : ATTEMPT_ON_PLACE_LEADS_ON;
        break;
    default:
        assert_true(false);
    }
}

/* Publishes are repeated until they are answered; the answers of other questions may be lost. */
static bool is_publish(enum attempt_action asked)
{
    return asked == ATTEMPT_DO_PUBLISH || asked == ATTEMPT_DO_WRITE_RETRY ||
           asked == ATTEMPT_DO_WRITE_DEAD_LETTER || asked == ATTEMPT_DO_RECORD;
}

static void answer(struct walk *k)
{
    struct held *a = &k->a;
    bool publish = is_publish(a->asked);
    bool lost = !k->settling && (publish ? !a->executed && pick(k, 12) == 0 : pick(k, 6) == 0);
    if (!lost && !a->executed)
        execute(k);
    else if (lost && !a->executed && !publish && pick(k, 2) == 0)
        execute(k); /* and its answer is lost */
    if (!lost && pick(k, 2) == 0)
        return; /* the answer is on its way */
    enum attempt_event event = lost ? ATTEMPT_ON_NO_ANSWER : a->answer;
    bool expired = pick(k, 3) == 0;
    enum attempt_end kind = event == ATTEMPT_ON_SILENT ? END_TIMED_OUT
                            : event == ATTEMPT_ON_NOT_FETCHED
                                ? (expired ? END_BURIED : END_GIVEN_BACK)
                            : event == ATTEMPT_ON_TERMINATED ? END_BURIED
                            : event == ATTEMPT_ON_DEAD_OWN   ? END_BURIED
                                                             : END_DONE;
    a->asked = ATTEMPT_DO_NOTHING;
    on(k, event, kind);
}

/* ---- what else happens ---- */

static void deliver(struct walk *k)
{
    struct world *w = &k->w;
    if (w->queue_seq == 0 || k->a.here)
        return;
    k->a = (struct held){.here = true,
                         .queue_seq = w->queue_seq,
                         .attempt = w->queue_attempt,
                         .content = true,
                         .redelivered = w->delivered_before};
    w->delivered_before = true;
    on(k, ATTEMPT_ON_DELIVERED, END_DONE);
}

static void redeliver(struct walk *k)
{
    if (!k->a.here || k->a.queue_seq != k->w.queue_seq)
        return;
    if (k->a.state == ATTEMPT_LOST) {
        on(k, ATTEMPT_ON_REPLACED, END_DONE);
        deliver(k);
    } else {
        on(k, ATTEMPT_ON_REDELIVERED, END_DONE);
    }
}

static void hear(struct walk *k, struct hand_off *h, enum attempt_event event)
{
    bool is_own = k->a.here && own(k) == h;
    enum attempt_end kind = event == ATTEMPT_ON_ACK   ? END_DONE
                            : event == ATTEMPT_ON_NAK ? END_FAILED
                                                      : END_BURIED;
    k->heard_ack = k->heard_ack || (event == ATTEMPT_ON_ACK && (is_own || h->honoured));
    if (is_own && attempt_state_is_verifying(k->a.state)) {
        h->pending = event;
    } else if (is_own) {
        on(k, event, kind);
    } else if (h->honoured && event == ATTEMPT_ON_ACK) {
        honour(k);
    } else if (!h->honoured) {
        h->pending = event;
    }
}

/* A worker fetches the hand-off, or says how it went. The dispatcher may not hear that. */
static void work(struct walk *k)
{
    struct world *w = &k->w;
    if (w->hand_offs == 0)
        return;
    struct hand_off *h = &w->hand_off[pick(k, (unsigned)w->hand_offs)];
    static const enum attempt_event words[] = {
        [ACKED] = ATTEMPT_ON_ACK, [NAKKED] = ATTEMPT_ON_NAK, [TERMED] = ATTEMPT_ON_TERM};
    if (h->worker == IDLE && h->there && h->epoch == w->epoch) {
        h->worker = BUSY;
    } else if (h->worker == BUSY) {
        unsigned way = pick(k, 5);
        h->worker = way < 3 ? ACKED : way == 3 ? NAKKED : TERMED;
        if (h->epoch != w->epoch)
            return; /* the AX_WORK it had it from is gone: nobody takes the word */
        h->there = h->there && h->worker == NAKKED;
        if (pick(k, 3) != 0)
            hear(k, h, words[h->worker]);
        else
            h->hears = false;
    }
}

/* An operator deletes a hand-off from AX_WORK. Of this leader's own, which it hears all of. */
static void remove_by_hand(struct walk *k)
{
    struct hand_off *h = own(k);
    bool open = h != NULL && h->there && h->hears && h->epoch == k->w.epoch;
    if (open && (h->worker == IDLE || h->worker == BUSY)) {
        h->there = false;
        h->removed = true;
    }
}

/* Somebody who did not get the hand-off acks it, or terminates it. The server believes that where
 * the message is with a worker. The dispatcher hears that it does not fit, or another one leads. */
static void forge(struct walk *k)
{
    struct world *w = &k->w;
    if (w->hand_offs == 0)
        return;
    struct hand_off *h = &w->hand_off[pick(k, (unsigned)w->hand_offs)];
    if (h->epoch != w->epoch || !k->a.here || own(k) != h)
        return;
    h->doubted = k->alarmed = true;
    if (h->worker == BUSY)
        h->there = false;
    if (k->a.state == ATTEMPT_RUNNING)
        on(k, ATTEMPT_ON_MISFIT, END_DONE);
}

/* AX_WORK is read, when a pool is taken over and while nothing of it is held. */
static void adopt(struct walk *k)
{
    struct world *w = &k->w;
    for (int i = 0; i < w->hand_offs && !k->a.here; i++) {
        struct hand_off *h = &w->hand_off[i];
        if (!h->there || h->epoch != w->epoch)
            continue;
        k->a = (struct held){
            .here = true, .queue_seq = h->from, .attempt = w->queue_attempt, .hand_off = i + 1};
        h->known = true;
        on(k, ATTEMPT_ON_ADOPTED, END_DONE);
        if (k->a.state == ATTEMPT_RUNNING) {
            on(k, h->from == w->queue_seq ? ATTEMPT_ON_QUEUE_THERE : ATTEMPT_ON_QUEUE_GONE,
               END_DONE);
        }
    }
}

/* Another dispatcher leads from now on. What this one has under way is sent once more, or not. */
static void take_over(struct walk *k)
{
    struct world *w = &k->w;
    if (k->a.asked == ATTEMPT_DO_RECORD || (k->a.asked != ATTEMPT_DO_NOTHING && pick(k, 2) == 0))
        execute(k);
    forget(k);
    k->took_over = true;
    k->known_done = k->unrecorded = k->heard_ack = false;
    for (int i = 0; i < w->hand_offs; i++) {
        w->hand_off[i].pending = w->hand_off[i].known = w->hand_off[i].honoured =
            w->hand_off[i].hears = 0;
    }
    k->known_done = w->record; /* it reads the bucket before anything starts */
    adopt(k);
}

static void recreate_work(struct walk *k)
{
    for (int i = 0; i < k->w.hand_offs; i++) {
        const struct hand_off *h = &k->w.hand_off[i];
        if (h->epoch == k->w.epoch && h->worker == ACKED && !k->w.record)
            return; /* acked, and nobody could record it: the documented exception to rule 6 */
    }
    for (int i = 0; i < k->w.hand_offs; i++)
        k->w.hand_off[i].pending = 0;
    k->w.epoch++;
    if (k->a.here && k->a.hand_off != 0 && pick(k, 2) == 0)
        on(k, ATTEMPT_ON_WORK_RECREATED, END_DONE);
}

static void feed(struct walk *k)
{
    struct world *w = &k->w;
    if (w->queue_seq != 0 && w->queue_attempt >= w->later)
        w->later = 0; /* rule 4: what is in the queue is as far */
    if (w->later == 0 || w->queue_seq != 0)
        return;
    w->queue_seq = ++w->seqs;
    w->queue_attempt = w->later;
    w->delivered_before = false;
    w->later = 0;
}

/* Another dispatcher, which took over while this one slept, ends the attempt as failed. */
static void ended_elsewhere(struct walk *k)
{
    struct world *w = &k->w;
    struct hand_off *h = own(k);
    bool running = k->a.here &&
                   (k->a.state == ATTEMPT_RUNNING || k->a.state == ATTEMPT_VERIFYING_HAND_OFF);
    if (!running || h->worker != BUSY || h->from != w->queue_seq || w->later != 0)
        return;
    w->later = k->a.attempt + 1;
    w->later_from = h->from;
    w->queue_seq = 0;
    h->there = false;
    h->superseded = true;
}

static bool may(struct walk *k, enum attempt_event event)
{
    return k->a.here &&
           attempt_moves_find_in(k->table, k->rows, k->a.state, event, facts(k)) != NULL;
}

/* Where else the task may be cancel.c has looked (tests/model/cancel.pml). */
static void cancel(struct walk *k)
{
    if (may(k, ATTEMPT_ON_CANCEL) && k->w.queue_seq == k->a.queue_seq && k->w.later == 0)
        on(k, ATTEMPT_ON_CANCEL, END_CANCELLED);
}

static void step(struct walk *k)
{
    switch (pick(k, k->settling ? 12 : 23)) {
    case 0:
        deliver(k);
        break;
    case 1:
        redeliver(k);
        break;
    case 2:
    case 3:
        if (k->a.here && k->a.state == ATTEMPT_WAITING)
            on(k, ATTEMPT_ON_TURN, END_BURIED);
        break;
    case 4:
    case 5:
        work(k);
        break;
    case 6:
        feed(k);
        break;
    case 7:
        if (may(k, ATTEMPT_ON_OVERDUE))
            on(k, ATTEMPT_ON_OVERDUE, END_DONE);
        break;
    case 8:
        if (!k->a.here)
            adopt(k);
        break;
    case 12:
        if (pick(k, 2) == 0)
            take_over(k);
        break;
    case 13:
        if (pick(k, 8) == 0)
            recreate_work(k);
        break;
    case 14:
        if (pick(k, 2) == 0 && k->a.state == ATTEMPT_RUNNING && k->a.here)
            on(k, ATTEMPT_ON_OVERRAN, END_FAILED);
        break;
    case 15:
        if (pick(k, 16) == 0)
            cancel(k);
        break;
    case 17:
        if (pick(k, 8) == 0 && k->a.state == ATTEMPT_WRITING_RETRY && k->w.later == 0) {
            k->w.later = k->a.attempt + (int)pick(k, 2); /* a copy of the task, by somebody else */
            k->w.later_from = -1;
        }
        break;
    case 18:
        if (pick(k, 4) == 0)
            ended_elsewhere(k);
        break;
    case 19:
        if (pick(k, 4) == 0)
            forge(k);
        break;
    case 20:
        if (pick(k, 4) == 0)
            remove_by_hand(k);
        break;
    case 21:
        if (may(k, ATTEMPT_ON_UNFETCHED) && own(k)->worker == IDLE)
            on(k, ATTEMPT_ON_UNFETCHED, END_DONE);
        break;
    case 16:
        if (k->a.here && k->a.hand_off != 0 && own(k)->worker == NAKKED)
            on(k, ATTEMPT_ON_MAX_DELIVERIES, END_DONE);
        break;
    default:
        if (k->a.here && k->a.asked != ATTEMPT_DO_NOTHING)
            answer(k);
    }
}

static void check(struct walk *k)
{
    const struct world *w = &k->w;
    const struct hand_off *h = own(k);
    require(k, w->queue_seq != 0 || w->later != 0 || w->dead_from != 0 || w->record || w->cancelled,
            "2: the task is lost");
    require(k, k->a.state != ATTEMPT_WAITING || h == NULL || !h->there || h->epoch != w->epoch,
            "8: its hand-off is in AX_WORK, and it waits for its turn");
}

static bool is_over(const struct walk *k)
{
    const struct world *w = &k->w;
    for (int i = 0; i < w->hand_offs; i++) {
        if (w->hand_off[i].there && w->hand_off[i].epoch == w->epoch)
            return false;
    }
    return !k->a.here && w->queue_seq == 0 && w->later == 0;
}

/* One task from its submission to its end; returns the number of events. */
static int episode(struct walk *k)
{
    int events = 0;
    k->w = (struct world){.queue_seq = 1, .queue_attempt = 1, .seqs = 1, .epoch = 1};
    k->a = (struct held){0};
    k->took_over = k->known_done = k->unrecorded = k->heard_ack = k->alarmed = k->settling = false;
    int most = 20 + (int)pick(k, EPISODE_EVENTS);
    for (; events < most && k->broken == NULL; events++) {
        step(k);
        check(k);
    }
    k->settling = true;
    for (; !is_over(k) && k->broken == NULL && events < most + SETTLING_EVENTS; events++) {
        step(k);
        check(k);
    }
    require(k, is_over(k), "it does not come to an end");
    require(k, !k->heard_ack || k->w.record || k->w.cancelled,
            "5: an ack was heard, and is not recorded");
    return events;
}

static void walk(struct walk *k, int events)
{
    while (events > 0 && k->broken == NULL)
        events -= episode(k);
}

static void no_rule_is_broken_in_a_million_events(void **state)
{
    (void)state;
    struct walk *k = calloc(1, sizeof(*k));
    k->table = attempt_moves(&k->rows);
    k->random = 88172645463325252ULL;
    walk(k, EVENTS);
    if (k->broken != NULL)
        print_error("broken: %s, in %s\n", k->broken, attempt_state_name(k->a.state));
    assert_null(k->broken);
    for (int s = 0; s < ATTEMPT_GONE; s++) {
        if (!k->moved[s])
            fail_msg("the walk never left %s", attempt_state_name((enum attempt_state)s));
    }
    free(k);
}

/* ---- mutants ---- */

struct mutant {
    const char *rule;
    enum attempt_state from;
    enum attempt_event on;
    unsigned facts; /* the row that these choose */
    enum attempt_state to;
    uint8_t actions[ATTEMPT_MOVE_ACTIONS];
};

#define M(rule_, from_, on_, facts_, to_, ...)                           \
    {                                                                    \
        rule_, ATTEMPT_##from_, ATTEMPT_ON_##on_, facts_, ATTEMPT_##to_, \
        {                                                                \
            __VA_ARGS__                                                  \
        }                                                                \
    }
#define DO(name) ATTEMPT_DO_##name

static const struct mutant mutants[] = {
    M("1: the hand-off goes before its queue message", WRITING_RETRY, STORED, 0, RELEASING,
      DO(NOTE_WRITTEN), DO(REMOVE_HAND_OFF), DO(RELEASE)),
    M("2: the queue message goes before what follows is stored", CHOOSE_NEXT, STEP, 0, RELEASING,
      DO(RELEASE)),
    M("3: a time-out without a look", RUNNING, REDELIVERED, 0, CHOOSE_FAILURE, DO(DECIDE)),
    M("3: gone from AX_WORK is a failure", VERIFYING_HAND_OFF, HAND_OFF_GONE, 0, CHOOSE_FAILURE,
      DO(DECIDE)),
    M("3: its own dead letter is not looked for", CHOOSE_FAILURE, STEP, ATTEMPT_IS_TIMED_OUT,
      READING_TASK, DO(READ_CONTENT)),
    M("5: an ack heard too late is not honoured", READING_TASK, ACK, 0, STATE_COUNT, 0),
    M("5: a retry is not looked up", CHOOSE_RECORD, STEP, ATTEMPT_IS_REPEATED, CHOOSE_CONTENT, 0),
    M("5: a dead key starts", READING_DEAD, DEAD_KEY, 0, CHOOSE_FRESH, 0),
    M("6: handed off before means done", HANDING_OFF, DUPLICATE, 0, RECORDING, DO(BEGIN_AGAIN),
      DO(DECIDE), DO(RECORD)),
    M("7: gone means done, whatever became of AX_WORK", VERIFYING_HAND_OFF, HAND_OFF_GONE, 0,
      VERIFYING_QUEUE, DO(READ_QUEUE)),
    M("7: gone means done, whoever ended it", VERIFYING_STREAM, SAME_STREAM, 0,
      VERIFYING_TERMINATION, DO(READ_TERMINATION)),
    M("7: a termination counts as an ack", VERIFYING_TERMINATION, TERMINATED, 0, RECORDING,
      DO(DECIDE), DO(RECORD)),
    M("7: gone means done, although acks were forged", VERIFYING_TERMINATION, FINISHED,
      ATTEMPT_IS_DOUBTED, RECORDING, DO(DECIDE), DO(RECORD)),
    M("7: gone means done, although no ack was heard", VERIFYING_TERMINATION, FINISHED,
      ATTEMPT_IS_UNHEARD, RECORDING, DO(DECIDE), DO(RECORD)),
    M("4: a copy that is no further on leads on", READING_PLACE, PLACE_BEHIND, 0, RELEASING,
      DO(NOTE_WRITTEN), DO(RELEASE)),
    M("1: what nobody fetched is removed first", VERIFYING_CONSUMER, NOT_FETCHED, 0, CHOOSE_FAILURE,
      DO(REMOVE_HAND_OFF), DO(DECIDE)),
    M("7: an ack that does not fit counts", RUNNING, MISFIT, 0, RECORDING, DO(DECIDE), DO(RECORD)),
    M("8: what is in AX_WORK waits for its turn again", NEW, ADOPTED, 0, WAITING, 0),
};

static void each_broken_rule_is_found(void **state)
{
    (void)state;
    size_t rows;
    const struct attempt_move *table = attempt_moves(&rows);
    struct attempt_move *copy = calloc(rows, sizeof(*copy));
    for (size_t i = 0; i < sizeof(mutants) / sizeof(mutants[0]); i++) {
        const struct mutant *m = &mutants[i];
        memcpy(copy, table, rows * sizeof(*copy));
        const struct attempt_move *found = attempt_moves_find_in(copy, rows, m->from, m->on,
                                                                 m->facts);
        assert_non_null(found);
        struct attempt_move *row = &copy[found - copy];
        row->to = m->to;
        memcpy(row->actions, m->actions, sizeof(row->actions));
        struct walk *k = calloc(1, sizeof(*k));
        k->table = copy;
        k->rows = rows;
        k->random = 88172645463325252ULL + i;
        walk(k, MUTANT_EVENTS);
        print_message("%s -> %s\n", m->rule, k->broken != NULL ? k->broken : "NOT FOUND");
        assert_non_null(k->broken);
        free(k);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rule_is_broken_in_a_million_events),
        cmocka_unit_test(each_broken_rule_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
