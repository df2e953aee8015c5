/* Every legal move of a submission is in its table, and nothing else is. What is legal stands here
 * a second time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "ingress/submit/submission_moves.h"

#define S(name) SUBMISSION_##name
#define ON(name) (1ULL << SUBMISSION_##name)
#define LOOK (ON(FOUND) | ON(NOT_FOUND))
#define COMPARE (LOOK | ON(OURS))
#define COMMON (ON(REFUSED) | ON(NO_ROOM) | ON(NO_ANSWER) | ON(RESUME) | ON(OVERDUE))

static const uint64_t legal[SUBMISSION_STATE_COUNT] = {
    [S(NEW)] = COMMON | ON(VALID) | ON(UNREADY),
    [S(RECORD)] = COMMON | LOOK | ON(UNREADY),
    [S(LATER)] = COMMON | LOOK,
    [S(DEAD)] = COMMON | LOOK,
    [S(PLACE)] = COMMON | ON(IN_SHARE) | ON(OVER_SHARE) | ON(OVER_POOL_SHARE) | ON(UNREADY) |
                 ON(SPILLING) | ON(SPILL_ENDING) | ON(NOT_DUE),
    [S(QUEUE)] = COMMON | LOOK,
    [S(WORK)] = COMMON | LOOK,
    [S(ENQUEUE)] = COMMON | ON(STORED) | ON(EXISTS) | ON(FULL),
    [S(SPILL)] = COMMON | ON(STORED) | ON(EXISTS) | ON(FULL),
    [S(DELAY)] = COMMON | ON(STORED) | ON(EXISTS),
    [S(COMPARE_QUEUE)] = COMMON | COMPARE,
    [S(COMPARE_SPILL)] = COMMON | COMPARE,
    [S(COMPARE_LATER)] = COMMON | COMPARE,
    [S(CHECK_RECORD)] = COMMON | COMPARE,
    [S(CHECK_LATER)] = COMMON | COMPARE,
    [S(CHECK_DEAD)] = COMMON | COMPARE,
    [S(BURY)] = COMMON | ON(STORED) | ON(EXISTS) | ON(FULL),
    [S(SCHEDULE)] = COMMON | COMPARE | ON(SAME),
    [S(REPLACE)] = COMMON | ON(STORED) | ON(EXISTS),
    [S(OLDER)] = COMMON | LOOK,
    [S(REMOVE)] = COMMON | ON(REMOVED),
    [S(ENDED)] = 0,
};

static bool toss(void)
{
    return rand() % 2 == 0;
}

/* A submission that waits and has a reply subject: RESUME and OVERDUE come to no other. */
static const void *draw(void)
{
    static struct submission_facts f;
    f = (struct submission_facts){.keyed = toss(),
                                  .ordered = toss(),
                                  .recurring = toss(),
                                  .replies = true,
                                  .maybe_done = toss(),
                                  .maybe_later = toss(),
                                  .maybe_dead = toss(),
                                  .unread = toss(),
                                  .spills = toss(),
                                  .spill_kept = toss(),
                                  .sent_again = toss(),
                                  .seq_known = toss(),
                                  .stayed = toss(),
                                  .now_done = toss(),
                                  .now_later = toss(),
                                  .now_dead = toss(),
                                  .waits = true,
                                  .looked = toss(),
                                  .same = toss(),
                                  .rounds = rand() % 30};
    return &f;
}

static const void *draw_silent(void)
{
    struct submission_facts *f = (struct submission_facts *)draw();
    f->replies = false;
    return f;
}

static bool replies_only(const struct move *row)
{
    return row->event == S(OVERDUE) || row->when == S(IF_REPLIES) ||
           row->when == S(IF_ORDERED_REPLIES) || row->when == S(IF_TO_BE_TOLD);
}

static void what_is_legal_has_a_move_and_nothing_else(void **state)
{
    struct moves *m = submission_moves_table();
    size_t bad = 0;
    bool reached[256] = {false};
    (void)state;
    assert_int_equal(moves_check(m, &bad), AX_OK);
    for (int i = 0; i < 3000; i++) {
        for (unsigned s = 0; s < SUBMISSION_STATE_COUNT; s++) {
            for (unsigned e = 0; e < SUBMISSION_EVENT_COUNT; e++) {
                bool silent = toss(), is_legal = (legal[s] & (1ULL << e)) != 0;
                const struct move *row = moves_find(m, s, e, silent ? draw_silent() : draw());
                if (silent && e == S(OVERDUE))
                    is_legal = false;
                if (is_legal != (row != NULL))
                    fail_msg("%s, %s", m->states.texts[s], m->events.texts[e]);
                if (row != NULL && silent)
                    assert_false(replies_only(row));
                if (row != NULL)
                    reached[row - m->rows] = true;
            }
        }
    }
    for (size_t i = 0; i < m->count; i++) {
        if (!reached[i])
            fail_msg("row %zu is never reached", i);
    }
}

static void while_it_waits_only_its_turn_and_its_producer_matter(void **state)
{
    struct moves *m = submission_moves_table();
    (void)state;
    for (unsigned e = 0; e < SUBMISSION_EVENT_COUNT; e++) {
        struct submission_facts f = {.state = S(RECORD), .replies = true, .waits = true};
        const struct move *row = submission_moves_step(m, &f, e);
        assert_int_equal(row != NULL, e == S(RESUME) || e == S(OVERDUE));
        assert_int_equal(f.state, S(RECORD));
        assert_int_equal(f.waits, e != S(RESUME));
    }
}

/* What was there is gone three times: looked for everywhere again; then it is answered as known. */
static void one_that_goes_again_and_again_is_known_at_last(void **state)
{
    struct moves *m = submission_moves_table();
    struct submission_facts f = {.keyed = true, .replies = true};
    (void)state;
    for (int round = 0; round < 4; round++) {
        f.state = S(COMPARE_QUEUE);
        f.looked = true;
        const struct move *row = submission_moves_step(m, &f, S(NOT_FOUND));
        assert_int_equal(row->action, round < 3 ? S(DO_LOOK) : S(DO_KNOWN_QUEUED));
        assert_int_equal(f.state, round < 3 ? S(RECORD) : S(ENDED));
        assert_true(f.maybe_done && f.maybe_later && f.maybe_dead && !f.looked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_legal_has_a_move_and_nothing_else),
        cmocka_unit_test(while_it_waits_only_its_turn_and_its_producer_matter),
        cmocka_unit_test(one_that_goes_again_and_again_is_known_at_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
