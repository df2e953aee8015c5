/* A random walk over the moves of submissions and due messages: no rule is broken, and a table with
 * one wrong row breaks the rule that the row keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ingress/feed/feed_moves.h"
#include "ingress/submit/submission_moves.h"

/* ---- the world: one task id, the streams that may have it, everybody who touches it */

#define SUBMISSIONS 3
#define FEEDS 2
#define EPISODE_EVENTS 150

enum rule {
    KEPT,
    LOST,         /* an accepted task is nowhere */
    UNSTORED,     /* accepted, and nothing was stored */
    STORED_TWICE, /* stored, though its key was known from the start */
    ACKED_EARLY,  /* rule 4: the source message is acked before its task is known further on */
    SPILLED,      /* an ordered task in the spill */
    SILENT,       /* no reply subject, and ended without being stored, known or buried */
    UNANSWERED,   /* a reply subject, and not exactly one answer */
    TWO_NEW,      /* answered as new, though its key was done before it was stored */
    NONE_NEW,     /* answered as known, though it was itself what was done */
    NO_MOVE,      /* an event without a row */
};

/* A message of a stream. */
struct stored {
    bool exists;
    int attempt;
    int of;     /* which submission stored the task first */
    int number; /* tells it from all others */
    long since; /* the event in which it was stored */
};

struct submission {
    struct submission_facts facts;
    bool lives, delayed, stored, buried;
    bool noted;    /* its answer came, or it was found */
    bool was_late; /* its key was done, and that was heard, before it was stored */
    int number;    /* its stamp: tells it from all others */
    int answers, tries;
    bool was_done, was_dead;
    long since;
};

struct feed {
    struct feed_facts facts;
    bool lives, from_spill, is_task;
    struct stored message; /* as it was delivered */
};

static struct {
    struct moves *submissions, *feeds;
    enum rule broken;
    long event, ended;
    bool keyed, ordered, spills, all_read;
    bool queue_full, spill_full, accepted;
    struct stored queue, spill, later;
    int done_of;               /* which submission was done */
    bool done, dead, released; /* released: what follows the queue message is stored */
    int numbers, fed[2];       /* number of the message that was fed last, by source */
    struct submission submission[SUBMISSIONS];
    struct feed feed[FEEDS];
} w;

static uint64_t random_state;

static unsigned any(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static bool one_in(unsigned n)
{
    return any(n) == 0;
}

/* A rule that is not looked at, so that what its breach leads to is seen. */
static enum rule ignored;

static void broke(enum rule rule)
{
    if (w.broken == KEPT && rule != ignored)
        w.broken = rule;
}

static void put(struct stored *place, int attempt, int of)
{
    *place = (struct stored){true, attempt, of, ++w.numbers, w.event};
}

static void begin_episode(void)
{
    w.keyed = !one_in(4);
    w.ordered = one_in(3);
    w.spills = one_in(2);
    w.all_read = !one_in(3);
    w.queue_full = one_in(3);
    w.spill_full = one_in(6);
    w.accepted = w.done = w.dead = w.released = false;
    w.queue = w.spill = w.later = (struct stored){0};
    w.fed[0] = w.fed[1] = 0;
    memset(w.submission, 0, sizeof(w.submission));
    memset(w.feed, 0, sizeof(w.feed));
}

/* ---- a submission */

static void submission_event(struct submission *s, enum submission_event event);

static void choose_over_pool_share(struct submission *s)
{
    s->facts.spill_kept = one_in(2);
    s->facts.spills = w.spills && !s->facts.spill_kept;
    submission_event(s, one_in(4) ? SUBMISSION_UNREADY : SUBMISSION_OVER_POOL_SHARE);
}

static void choose(struct submission *s)
{
    if (s->delayed)
        submission_event(s, SUBMISSION_NOT_DUE);
    else if (w.spills && (w.spill.exists || one_in(8)))
        submission_event(s, one_in(8) ? SUBMISSION_SPILL_ENDING : SUBMISSION_SPILLING);
    else if (one_in(4))
        choose_over_pool_share(s);
    else
        submission_event(s, one_in(6) ? SUBMISSION_OVER_SHARE : SUBMISSION_IN_SHARE);
}

static void end(struct submission *s)
{
    w.ended++;
    s->lives = false;
    if (s->facts.replies ? s->answers != 1 : s->answers == 0 && !s->buried)
        broke(s->facts.replies ? UNANSWERED : SILENT);
}

static void accept(struct submission *s)
{
    if (!s->stored)
        broke(UNSTORED);
    if (s->was_late)
        broke(TWO_NEW);
    w.accepted = true;
}

static void submission_act(struct submission *s, enum submission_action action)
{
    if (action == SUBMISSION_DO_CHOOSE ||
        (action == SUBMISSION_DO_RESUME && s->facts.state == SUBMISSION_PLACE)) {
        choose(s);
        return;
    }
    if (action >= SUBMISSION_DO_BUSY_SHARE && action <= SUBMISSION_DO_REFUSE && !s->facts.replies)
        broke(SILENT);
    if (action >= SUBMISSION_DO_ACCEPT_QUEUED && action <= SUBMISSION_DO_ACCEPT_STORED)
        accept(s);
    if (action == SUBMISSION_DO_KNOWN_DONE && s->noted && w.done_of == s->number)
        broke(NONE_NEW);
    if (action >= SUBMISSION_DO_ACCEPT_QUEUED && action <= SUBMISSION_DO_REFUSE)
        s->answers++;
    if (s->facts.state == SUBMISSION_ENDED)
        end(s);
}

static void submission_event(struct submission *s, enum submission_event event)
{
    const struct move *m = submission_moves_step(w.submissions, &s->facts, event);
    if (m == NULL)
        broke(NO_MOVE);
    else
        submission_act(s, m->action);
}

static void submit(struct submission *s)
{
    bool keyless_again = !w.keyed && s->facts.state == SUBMISSION_ENDED;
    if (keyless_again) /* nobody else has its id */
        return;
    *s = (struct submission){
        .lives = true,
        .number = ++w.numbers,
        .delayed = !w.ordered && one_in(3),
        .was_done = w.done,
        .was_dead = w.dead,
        .since = w.event,
        .facts = {.keyed = w.keyed, .ordered = w.ordered, .replies = !one_in(3)},
    };
    s->facts.maybe_done = w.keyed && (w.done || !w.all_read || one_in(4));
    s->facts.maybe_later = w.keyed && (w.later.exists || one_in(4));
    s->facts.maybe_dead = w.keyed && (w.dead || one_in(4));
    submission_event(s, one_in(20) ? SUBMISSION_REFUSED : SUBMISSION_VALID);
}

static void note_stored(struct submission *s, bool delayed)
{
    bool heard = w.keyed && w.all_read;
    s->noted = true;
    s->facts.now_done = heard && (w.done || one_in(8));
    s->facts.now_later = heard && !delayed && (w.later.exists || one_in(8));
    s->facts.now_dead = heard && (w.dead || one_in(8));
}

static void look(struct submission *s, const struct stored *place, bool compares)
{
    bool ours = place->exists && place->of == s->number;
    if (ours && (place == &w.queue || place == &w.spill || place == &w.later) && compares &&
        s->facts.state <= SUBMISSION_COMPARE_LATER)
        note_stored(s, place == &w.later);
    submission_event(s, !place->exists     ? SUBMISSION_NOT_FOUND
                        : compares && ours ? SUBMISSION_OURS
                                           : SUBMISSION_FOUND);
}

static void look_record(struct submission *s)
{
    if (s->facts.unread && !w.all_read) {
        submission_event(s, SUBMISSION_UNREADY);
        return;
    }
    /* A record in a batch that was not read yet cannot be found. */
    bool missed = !w.all_read && one_in(2);
    s->facts.unread = !w.all_read;
    submission_event(s, w.done && !missed ? SUBMISSION_FOUND : SUBMISSION_NOT_FOUND);
}

/* The key was known when s began, and has not moved since. */
static bool was_known(const struct submission *s, const struct stored *place)
{
    bool in_queue = w.queue.exists && w.queue.since <= s->since && place != &w.queue;
    bool in_later = w.later.exists && w.later.since <= s->since && place != &w.later;
    return w.keyed && (s->was_done || s->was_dead || in_queue || in_later);
}

/* The server has the publish; its answer may be lost, then the pipeline repeats it. */
static void store(struct submission *s, struct stored *place, bool full)
{
    bool is_answered = !one_in(4), exists = place->exists;
    s->tries++;
    if (!exists && !full) {
        if (place == &w.spill && w.ordered)
            broke(SPILLED);
        if (!s->stored && was_known(s, place))
            broke(STORED_TWICE);
        put(place, 1, s->number);
        s->was_late = w.keyed && w.done && w.done_of != s->number && w.all_read;
        if (place == &w.queue)
            w.released = false;
        s->stored = true;
    }
    if (!is_answered)
        return;
    s->facts.sent_again = s->tries > 1;
    s->facts.seq_known = !one_in(8);
    s->facts.spills = w.spills;
    s->tries = 0;
    if (!exists && !full)
        note_stored(s, s->facts.state == SUBMISSION_DELAY);
    submission_event(s, exists ? SUBMISSION_EXISTS : full ? SUBMISSION_FULL : SUBMISSION_STORED);
}

static void bury(struct submission *s)
{
    if (one_in(4)) {
        submission_event(s, SUBMISSION_REFUSED);
        return;
    }
    s->buried = true;
    submission_event(s, SUBMISSION_STORED);
}

/* The answer that s waits for. */
static void answer_submission(struct submission *s)
{
    const struct stored dead = {.exists = w.dead, .of = -1},
                        done = {.exists = w.done, .of = w.done_of},
                        work = {.exists = w.queue.exists && one_in(2)};
    if (one_in(12) && s->tries == 0) {
        submission_event(s, one_in(2) ? SUBMISSION_NO_ANSWER : SUBMISSION_NO_ROOM);
        return;
    }
    switch (s->facts.state) {
    case SUBMISSION_RECORD:
        look_record(s);
        break;
    case SUBMISSION_LATER:
        look(s, &w.later, false);
        break;
    case SUBMISSION_DEAD:
        look(s, &dead, false);
        break;
    case SUBMISSION_QUEUE:
        look(s, &w.queue, false);
        break;
    case SUBMISSION_WORK:
        look(s, &work, false);
        break;
    case SUBMISSION_ENQUEUE:
        store(s, &w.queue, w.queue_full);
        break;
    case SUBMISSION_SPILL:
        store(s, &w.spill, w.spill_full);
        break;
    case SUBMISSION_DELAY:
        store(s, &w.later, false);
        break;
    case SUBMISSION_CHECK_RECORD:
        look(s, &done, true);
        break;
    case SUBMISSION_CHECK_LATER:
        look(s, &w.later, true);
        break;
    case SUBMISSION_CHECK_DEAD:
        look(s, &dead, true);
        break;
    case SUBMISSION_COMPARE_QUEUE:
        look(s, &w.queue, true);
        break;
    case SUBMISSION_COMPARE_SPILL:
        look(s, &w.spill, true);
        break;
    case SUBMISSION_COMPARE_LATER:
        look(s, &w.later, true);
        break;
    case SUBMISSION_BURY:
        bury(s);
        break;
    default:
        broke(NO_MOVE);
        break;
    }
}

static void play_submission(struct submission *s)
{
    if (!s->lives)
        submit(s);
    else if (s->facts.waits)
        submission_event(s, SUBMISSION_RESUME);
    else
        answer_submission(s);
}

/* ---- a due or spilled message */

static bool is_known_further_on(const struct feed *d)
{
    int a = d->message.attempt;
    return w.done || w.dead || (w.queue.exists && w.queue.attempt >= a) ||
           (w.later.exists && w.later.attempt > a);
}

static void feed_event(struct feed *d, enum feed_event event)
{
    const struct move *m = feed_moves_step(w.feeds, &d->facts, event);
    if (m == NULL) {
        broke(NO_MOVE);
        return;
    }
    if ((m->action == FEED_DO_ACK || m->action == FEED_DO_ACK_UNHEARD) && d->is_task &&
        !is_known_further_on(d))
        broke(ACKED_EARLY);
    if (m->action == FEED_DO_ACK || m->action == FEED_DO_ACK_UNHEARD) {
        struct stored *source = d->from_spill ? &w.spill : &w.later;
        if (source->exists && source->number == d->message.number && !one_in(4))
            source->exists = false; /* the ack reached the server */
    }
    if (d->facts.state == FEED_ENDED) {
        d->lives = false;
        w.ended++;
    }
}

static void deliver(struct feed *d)
{
    bool from_spill = one_in(2);
    const struct stored *source = from_spill ? &w.spill : &w.later;
    const struct feed *other = &w.feed[d == w.feed];
    if (!source->exists || (other->lives && other->message.number == source->number))
        return;
    *d = (struct feed){
        .lives = true, .from_spill = from_spill, .is_task = true, .message = *source};
    feed_event(d, one_in(30) ? FEED_NO_MEMORY : FEED_TASK);
}

static void publish_into_queue(struct feed *d)
{
    bool fed = w.fed[d->from_spill] == d->message.number; /* its message id is known */
    bool exists = w.queue.exists, full = w.queue_full;
    if (one_in(20)) {
        feed_event(d, one_in(2) ? FEED_REFUSED : FEED_NO_ROOM);
        return;
    }
    if (!fed && !exists && !full) {
        put(&w.queue, d->message.attempt, d->message.of);
        w.released = false;
        w.fed[d->from_spill] = d->message.number;
    }
    if (one_in(4))
        return; /* the answer is lost */
    feed_event(d, fed ? FEED_STORED : exists ? FEED_EXISTS : full ? FEED_FULL : FEED_STORED);
}

static void look_into_queue(struct feed *d)
{
    if (one_in(10))
        feed_event(d, FEED_NO_ANSWER);
    else if (!w.queue.exists)
        feed_event(d, FEED_NOT_FOUND);
    else
        feed_event(d, w.queue.attempt >= d->message.attempt ? FEED_FOUND : FEED_FOUND_EARLIER);
}

static void play_feed(struct feed *d)
{
    if (!d->lives) {
        deliver(d);
        return;
    }
    switch (d->facts.state) {
    case FEED_READY:
        feed_event(d, one_in(10)   ? FEED_STOPPED
                      : one_in(10) ? FEED_CROWDED
                      : one_in(6)  ? FEED_NO_PLACE
                                   : FEED_TURN);
        break;
    case FEED_ASIDE:
        feed_event(d, one_in(10) ? FEED_STOPPED : one_in(6) ? FEED_CROWDED : FEED_DUE);
        break;
    case FEED_PUBLISHING:
        publish_into_queue(d);
        break;
    case FEED_LOOKING:
        look_into_queue(d);
        break;
    case FEED_WAITING:
        feed_event(d, one_in(10) ? FEED_STOPPED : FEED_DUE);
        break;
    case FEED_ACKING:
        feed_event(d, one_in(8) ? FEED_NOT_ASKED : one_in(3) ? FEED_NO_ANSWER : FEED_ACKED);
        break;
    default:
        broke(NO_MOVE);
        break;
    }
}

/* ---- the dispatcher: the next state is stored first, then the queue message is released */

static void dispatch(void)
{
    struct stored *q = &w.queue;
    if (!q->exists)
        return;
    if (w.released || w.done || w.dead) {
        q->exists = w.released = false;
    } else if (one_in(3)) {
        w.done = true;
        w.done_of = q->of;
        w.released = true;
    } else if (q->attempt >= 3) {
        w.dead = true;
        w.released = true;
    } else if (!w.later.exists) {
        put(&w.later, q->attempt + 1, q->of);
        w.released = true;
    }
}

static void weather(void)
{
    w.queue_full = one_in(3);
    w.spill_full = one_in(6);
    w.all_read = w.all_read || one_in(3);
}

static bool is_somewhere(void)
{
    return w.queue.exists || w.spill.exists || w.later.exists || w.done || w.dead;
}

static enum rule walk(struct moves *submissions, struct moves *feeds, uint64_t seed, long events)
{
    memset(&w, 0, sizeof(w));
    w.submissions = submissions;
    w.feeds = feeds;
    random_state = seed;
    for (w.event = 0; w.event < events && w.broken == KEPT; w.event++) {
        if (w.event % EPISODE_EVENTS == 0)
            begin_episode();
        unsigned who = any(10);
        if (who < 5)
            play_submission(&w.submission[w.keyed ? any(SUBMISSIONS) : 0]);
        else if (who < 8)
            play_feed(&w.feed[any(FEEDS)]);
        else if (who == 8)
            dispatch();
        else
            weather();
        if (w.accepted && !is_somewhere())
            broke(LOST);
    }
    return w.broken;
}

/* ---- tests */

static void a_million_events_break_no_rule(void **state)
{
    (void)state;
    assert_int_equal(
        walk(submission_moves_table(), feed_moves_table(), 0x9E3779B97F4A7C15, 1000000), KEPT);
    assert_true(w.ended > 20000);
}

/* m with the row of this state, event and condition changed. */
struct mutant {
    struct moves table;
    struct move rows[128];
    uint16_t index[1024];
};

static struct moves *mutant(struct mutant *x, const struct moves *m, unsigned from, unsigned event,
                            unsigned when, unsigned to, unsigned action)
{
    bool found = false;
    assert_true(m->count <= 128 && m->states.count * m->events.count <= 1024);
    memset(x, 0, sizeof(*x));
    x->table = *m;
    memcpy(x->rows, m->rows, m->count * sizeof(x->rows[0]));
    for (size_t i = 0; i < m->count; i++) {
        struct move *row = &x->rows[i];
        if (row->from != from || row->event != event || row->when != when)
            continue;
        row->to = (uint8_t)to;
        row->action = (uint8_t)action;
        found = true;
    }
    assert_true(found);
    x->table.rows = x->rows;
    x->table.index = x->index;
    x->table.indexed = false;
    return &x->table;
}

#define S(name) SUBMISSION_##name
#define F(name) FEED_##name

static void a_wrong_row_of_a_submission_is_caught(void **state)
{
    static const struct {
        unsigned from, event, when, to, action;
        enum rule rule;
    } wrong[] = {
        {S(ENQUEUE), S(FULL), S(IF_TO_BE_TOLD), S(ENDED), S(DO_ACCEPT_QUEUED), UNSTORED},
        {S(ENQUEUE), S(EXISTS), S(ALWAYS), S(ENDED), S(DO_ACCEPT_QUEUED), UNSTORED},
        {S(COMPARE_QUEUE), S(FOUND), S(ALWAYS), S(ENDED), S(DO_ACCEPT_QUEUED), UNSTORED},
        {S(RECORD), S(FOUND), S(ALWAYS), S(PLACE), S(DO_CHOOSE), STORED_TWICE},
        {S(RECORD), S(NOT_FOUND), S(IF_UNREAD), S(PLACE), S(DO_CHOOSE), STORED_TWICE},
        {S(RECORD), S(NOT_FOUND), S(IF_MAYBE_LATER), S(PLACE), S(DO_CHOOSE), STORED_TWICE},
        {S(LATER), S(FOUND), S(ALWAYS), S(PLACE), S(DO_CHOOSE), STORED_TWICE},
        {S(DEAD), S(FOUND), S(ALWAYS), S(PLACE), S(DO_CHOOSE), STORED_TWICE},
        {S(PLACE), S(NOT_DUE), S(IF_UNLOOKED), S(DELAY), S(DO_STORE), STORED_TWICE},
        {S(PLACE), S(SPILLING), S(IF_UNLOOKED), S(SPILL), S(DO_STORE), STORED_TWICE},
        {S(PLACE), S(SPILLING), S(IF_ORDERED), S(SPILL), S(DO_STORE), SPILLED},
        {S(PLACE), S(OVER_SHARE), S(IF_ORDERED), S(SPILL), S(DO_STORE), SPILLED},
        {S(PLACE), S(OVER_POOL_SHARE), S(IF_ORDERED), S(SPILL), S(DO_STORE), SPILLED},
        {S(PLACE), S(OVER_POOL_SHARE), S(IF_SPILL_KEPT), S(ENDED), S(DO_BUSY_POOL), SILENT},
        {S(ENQUEUE), S(FULL), S(IF_ORDERED), S(SPILL), S(DO_STORE), SPILLED},
        {S(SPILL), S(FULL), S(ALWAYS), S(ENDED), S(DO_BUSY_SPILL), SILENT},
        {S(BURY), S(REFUSED), S(ALWAYS), S(ENDED), S(DO_END), SILENT},
        {S(WORK), S(FOUND), S(ALWAYS), S(ENDED), S(DO_END), UNANSWERED},
        {S(ENQUEUE), S(STORED), S(IF_NOW_DONE), S(ENDED), S(DO_ACCEPT_QUEUED), TWO_NEW},
        {S(CHECK_RECORD), S(OURS), S(ALWAYS), S(ENDED), S(DO_KNOWN_DONE), NONE_NEW},
    };
    static struct mutant x;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct moves *m = mutant(&x, submission_moves_table(), wrong[i].from, wrong[i].event,
                                 wrong[i].when, wrong[i].to, wrong[i].action);
        enum rule broken = walk(m, feed_moves_table(), 4711, 1000000);
        if (broken != wrong[i].rule)
            fail_msg("mutant %zu breaks %d, not %d", i, broken, wrong[i].rule);
    }
}

static void a_wrong_row_of_a_due_message_is_caught(void **state)
{
    static const struct {
        unsigned from, event, to, action;
    } wrong[] = {
        {F(PUBLISHING), F(EXISTS), F(ACKING), F(DO_ACK)},
        {F(PUBLISHING), F(FULL), F(ACKING), F(DO_ACK)},
        {F(READY), F(NO_PLACE), F(ACKING), F(DO_ACK)},
        {F(ASIDE), F(CROWDED), F(ACKING), F(DO_ACK)},
        {F(PUBLISHING), F(REFUSED), F(ACKING), F(DO_ACK)},
        {F(LOOKING), F(FOUND_EARLIER), F(ACKING), F(DO_ACK)},
        {F(LOOKING), F(NOT_FOUND), F(ACKING), F(DO_ACK)},
        {F(LOOKING), F(NO_ANSWER), F(ACKING), F(DO_ACK)},
    };
    static struct mutant x;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct moves *m = mutant(&x, feed_moves_table(), wrong[i].from, wrong[i].event, F(ALWAYS),
                                 wrong[i].to, wrong[i].action);
        enum rule broken = walk(submission_moves_table(), m, 4711, 1000000);
        if (broken != ACKED_EARLY)
            fail_msg("mutant %zu breaks %d", i, broken);
    }
}

/* The same mistake, found by what a user would notice. */
static void a_task_that_is_acked_early_is_lost(void **state)
{
    static struct mutant x;
    (void)state;
    struct moves *m = mutant(&x, feed_moves_table(), F(PUBLISHING), F(FULL), F(ALWAYS), F(ACKING),
                             F(DO_ACK));
    ignored = ACKED_EARLY;
    assert_int_equal(walk(submission_moves_table(), m, 4711, 1000000), LOST);
    ignored = KEPT;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_events_break_no_rule),
        cmocka_unit_test(a_wrong_row_of_a_submission_is_caught),
        cmocka_unit_test(a_wrong_row_of_a_due_message_is_caught),
        cmocka_unit_test(a_task_that_is_acked_early_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
