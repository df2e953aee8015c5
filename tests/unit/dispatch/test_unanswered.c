#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "dispatch/rate/unanswered.h"

#define S 1000000000LL
#define MS 1000000LL
#define STEP (MS / 4)
#define STARTS_MAX 20000

static uint64_t seed;

static int64_t random_up_to(int64_t most)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int64_t)((seed >> 33) % (uint64_t)(most + 1));
}

/* A pool whose starts take their time to the server, as a busy machine or look-ups make it. */
struct run {
    double rate, burst;
    int64_t usual_ns;
    int64_t (*way_ns)(int64_t now_ns); /* to be stored; the answer takes as long again, at most */
    bool (*wanted)(int64_t now_ns);    /* a worker asks */
    struct bucket bucket;
    struct unanswered unanswered;
    int64_t stored[STARTS_MAX], answered[STARTS_MAX];
    bool open[STARTS_MAX];
    size_t count, first_open;
};

static struct run run;

static void answer(int64_t now)
{
    while (run.first_open < run.count && !run.open[run.first_open])
        run.first_open++;
    for (size_t i = run.first_open; i < run.count; i++) {
        if (run.open[i] && run.answered[i] <= now) {
            run.open[i] = false;
            unanswered_used(&run.unanswered, &run.bucket, run.usual_ns, now);
        }
    }
}

static void start_all(int64_t now)
{
    while (run.wanted(now) && run.count < STARTS_MAX &&
           !unanswered_are_due(&run.unanswered, &run.bucket, run.usual_ns, now) &&
           bucket_take(&run.bucket, now) != 0) {
        run.stored[run.count] = now + run.way_ns(now);
        run.answered[run.count] = run.stored[run.count] + random_up_to(run.way_ns(now));
        run.open[run.count++] = true;
        run.unanswered.count++;
    }
}

static void simulate(int64_t until)
{
    seed = 42;
    run.count = run.first_open = 0;
    bucket_init(&run.bucket, run.rate, run.burst, 0);
    run.unanswered = (struct unanswered){0};
    for (int64_t now = 0; now < until; now += STEP) {
        answer(now);
        start_all(now);
    }
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Most that were stored in any window of t seconds, less rate·t. */
static double most_stored(void)
{
    double least = 1e18, most = 0;
    qsort(run.stored, run.count, sizeof(*run.stored), by_time);
    for (size_t i = 0; i < run.count; i++) {
        double level = (double)i - run.rate * (double)run.stored[i] / 1e9;
        least = level < least ? level : least;
        most = level - least + 1 > most ? level - least + 1 : most;
    }
    return most;
}

static int64_t uneven(int64_t now_ns)
{
    (void)now_ns;
    return random_up_to(4) == 0 ? random_up_to(150 * MS) : MS;
}

/* The server stands still for half of each second, and then stores what has come at once. */
static int64_t stalls(int64_t now_ns)
{
    return now_ns % S < S / 2 ? S / 2 - now_ns % S : MS;
}

static int64_t steady(int64_t now_ns)
{
    (void)now_ns;
    return 5 * MS;
}

static int64_t far(int64_t now_ns)
{
    (void)now_ns;
    return 100 * MS; /* the answer is there after 100 to 200 */
}

static bool always(int64_t now_ns)
{
    (void)now_ns;
    return true;
}

static bool by_fits(int64_t now_ns)
{
    return now_ns % (700 * MS) > 400 * MS;
}

/* `make chaos SECONDS=180 SERVERS=1 SEED=233896` on a machine with other load: 32.6 starts over
 * rate × time were stored, of a pool with rate 80 and burst 20. */
static void what_is_held_up_is_within_the_bound(void **state)
{
    (void)state;
    int64_t (*const ways[])(int64_t) = {uneven, stalls, far};
    bool (*const wishes[])(int64_t) = {always, by_fits};
    for (size_t i = 0; i < 6; i++) {
        run = (struct run){.rate = 80, .burst = 20, .usual_ns = 20 * MS};
        run.way_ns = ways[i % 3];
        run.wanted = wishes[i / 3];
        simulate(60 * S);
        double most = most_stored();
        if (most > 20 + 80 * 0.025 + 1)
            fail_msg("case %zu: %.1f starts over rate × time, burst 20", i, most);
        assert_true(run.count > 1000);
    }
}

/* Nothing is lost of the rate while answers take their usual time. */
static void whole_rate_while_answers_come(void **state)
{
    (void)state;
    const struct {
        double rate, burst;
        int64_t usual_ns;
        int64_t (*way_ns)(int64_t);
    } cases[] = {{20, 1, 5 * MS, steady},
                 {10, 1, MS, steady},
                 {200, 1, 8 * MS, steady},
                 {80, 20, 150 * MS, far},
                 {80, 1, 150 * MS, far}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run = (struct run){.rate = cases[i].rate,
                           .burst = cases[i].burst,
                           .usual_ns = cases[i].usual_ns,
                           .way_ns = cases[i].way_ns,
                           .wanted = always};
        simulate(20 * S);
        if ((double)run.count < 0.985 * 20 * run.rate)
            fail_msg("case %zu: %.2f/s of %.0f/s", i, (double)run.count / 20, run.rate);
    }
}

static void waits_for_a_token_or_for_an_answer(void **state)
{
    (void)state;
    struct bucket b;
    struct unanswered u = {0};
    bucket_init(&b, 10, 2, 0); /* capacity 2.25 */
    assert_true(unanswered_are_due(&u, &b, 0, 0));
    assert_in_range(unanswered_wait_ns(&u, &b, 0), S / 10, S / 10 + 2);
    assert_false(unanswered_are_due(&u, &b, 0, S / 10 + 2));
    u.count = 2;
    assert_true(unanswered_are_due(&u, &b, 0, 10 * S));
    assert_true(unanswered_wait_ns(&u, &b, 0) == INT64_MAX);
    assert_true(u.waits);
    unanswered_used(&u, &b, 0, 10 * S);
    assert_true(unanswered_are_due(&u, &b, 0, 10 * S)); /* 1.25 is there, and one is reserved */
    assert_in_range(unanswered_wait_ns(&u, &b, 0), 75 * MS - 2, 75 * MS + 2);
    assert_false(unanswered_are_due(&u, &b, 0, 10 * S + 80 * MS));
}

/* Those begun without limit have reserved nothing, and are no debt. */
static void without_limit_none_is_due(void **state)
{
    (void)state;
    struct bucket b;
    struct unanswered u = {.count = 1000};
    bucket_init(&b, 0, 1, 0);
    assert_false(unanswered_are_due(&u, &b, S, S));
    assert_int_equal(unanswered_wait_ns(&u, &b, S), 0);
    bucket_set(&b, 10, 5, S);
    assert_true(unanswered_are_due(&u, &b, 0, S));
    for (int i = 0; i < 1000; i++)
        unanswered_used(&u, &b, 0, S);
    assert_int_equal(u.count, 0);
    assert_false(unanswered_are_due(&u, &b, 0, 2 * S));
}

static void extremes_do_not_overflow(void **state)
{
    (void)state;
    struct bucket b;
    struct unanswered u = {0};
    bucket_init(&b, 1e-9, 1e9, INT64_MIN);
    unanswered_init(&u, INT64_MIN);
    assert_true(unanswered_are_due(&u, &b, INT64_MAX, INT64_MIN));
    assert_true(unanswered_wait_ns(&u, &b, INT64_MAX) > 0);
    unanswered_are_due(&u, &b, INT64_MAX, INT64_MAX);
    unanswered_are_due(&u, &b, INT64_MAX, 0); /* backwards: no time is counted twice */
    assert_true(u.last_ns == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_up_is_within_the_bound),
        cmocka_unit_test(whole_rate_while_answers_come),
        cmocka_unit_test(waits_for_a_token_or_for_an_answer),
        cmocka_unit_test(without_limit_none_is_due),
        cmocka_unit_test(extremes_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
