#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/moves.h"

/* A door: OPEN, SHUT, and GONE, its end. */
enum { OPEN, SHUT, GONE, STATES };
enum { PUSH, PULL, BURN, EVENTS };
enum { ALWAYS, IF_LOCKED, CONDITIONS };
enum { NOTHING, CREAK, ACTIONS };

static const char *const states[] = {"open", "shut", "gone"};
static const char *const events[] = {"push", "pull", "burn"};
static const char *const conditions[] = {"", "locked"};
static const char *const actions[] = {"", "creak"};

static bool holds(unsigned condition, const void *facts)
{
    return condition == IF_LOCKED && *(const bool *)facts;
}

static const struct move door[] = {{OPEN, PUSH, ALWAYS, SHUT, CREAK, 0},
                                   {SHUT, PULL, IF_LOCKED, MOVES_STAY, NOTHING, 7},
                                   {SHUT, PULL, ALWAYS, OPEN, CREAK, 0},
                                   {SHUT, BURN, IF_LOCKED, MOVES_STAY, NOTHING, 0},
                                   {MOVES_ANY, BURN, ALWAYS, GONE, NOTHING, 0}};

static uint16_t index_[STATES * EVENTS];

static struct moves table(const struct move *rows, size_t count)
{
    return (struct moves){.name = "door",
                          .rows = rows,
                          .count = count,
                          .states = {states, STATES},
                          .events = {events, EVENTS},
                          .conditions = {conditions, CONDITIONS},
                          .actions = {actions, ACTIONS},
                          .holds = holds,
                          .index = index_};
}

static void the_first_row_whose_condition_holds_is_the_move(void **state)
{
    (void)state;
    struct moves m = table(door, sizeof(door) / sizeof(door[0]));
    bool locked = true, unlocked = false;
    assert_ptr_equal(moves_find(&m, OPEN, PUSH, &unlocked), &door[0]);
    assert_ptr_equal(moves_find(&m, SHUT, PULL, &locked), &door[1]);
    assert_ptr_equal(moves_find(&m, SHUT, PULL, &unlocked), &door[2]);
}

static void what_has_no_row_has_no_move(void **state)
{
    (void)state;
    struct moves m = table(door, sizeof(door) / sizeof(door[0]));
    bool unlocked = false;
    assert_null(moves_find(&m, OPEN, PULL, &unlocked));
    assert_null(moves_find(&m, SHUT, PUSH, &unlocked));
    assert_null(moves_find(&m, STATES, PUSH, &unlocked));
    assert_null(moves_find(&m, OPEN, EVENTS, &unlocked));
}

static void any_is_every_state_but_the_end_and_those_with_rows(void **state)
{
    (void)state;
    struct moves m = table(door, sizeof(door) / sizeof(door[0]));
    bool locked = true, unlocked = false;
    assert_ptr_equal(moves_find(&m, OPEN, BURN, &unlocked), &door[4]);
    assert_ptr_equal(moves_find(&m, SHUT, BURN, &locked), &door[3]);
    assert_null(moves_find(&m, SHUT, BURN, &unlocked));
    assert_null(moves_find(&m, GONE, BURN, &unlocked));
}

static void a_table_that_is_not_well_formed_is_refused(void **state)
{
    (void)state;
    size_t row;
    const struct move out_of_range[] = {{OPEN, PUSH, ALWAYS, STATES, CREAK, 0}};
    const struct move from_the_end[] = {{GONE, PUSH, ALWAYS, OPEN, CREAK, 0}};
    const struct move unreachable[] = {{OPEN, PUSH, ALWAYS, SHUT, CREAK, 0},
                                       {OPEN, PUSH, IF_LOCKED, MOVES_STAY, NOTHING, 0}};
    const struct move apart[] = {{OPEN, PUSH, IF_LOCKED, MOVES_STAY, NOTHING, 0},
                                 {SHUT, PULL, ALWAYS, OPEN, CREAK, 0},
                                 {OPEN, PUSH, ALWAYS, SHUT, CREAK, 0}};
    struct moves m = table(door, sizeof(door) / sizeof(door[0]));
    assert_int_equal(moves_check(&m, &row), AX_OK);
    m = table(out_of_range, 1);
    assert_int_equal(moves_check(&m, &row), AX_E_INVALID);
    m = table(from_the_end, 1);
    assert_int_equal(moves_check(&m, &row), AX_E_INVALID);
    m = table(unreachable, 2);
    assert_int_equal(moves_check(&m, &row), AX_E_INVALID);
    assert_int_equal(row, 1);
    m = table(apart, 3);
    assert_int_equal(moves_check(&m, &row), AX_E_INVALID);
    assert_int_equal(row, 2);
}

static void a_table_is_printed_row_by_row(void **state)
{
    (void)state;
    struct moves m = table(door, 2);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    moves_print(&m, out);
    fclose(out);
    assert_string_equal(text, "| state | event | when | next | does | rule |\n"
                              "|---|---|---|---|---|---|\n"
                              "| open | push |  | shut | creak | |\n"
                              "| shut | pull | locked | same |  | 7 |\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_row_whose_condition_holds_is_the_move),
        cmocka_unit_test(what_has_no_row_has_no_move),
        cmocka_unit_test(any_is_every_state_but_the_end_and_those_with_rows),
        cmocka_unit_test(a_table_that_is_not_well_formed_is_refused),
        cmocka_unit_test(a_table_is_printed_row_by_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
