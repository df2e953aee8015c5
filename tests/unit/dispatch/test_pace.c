/* The controller against a simulated plant: workers in front of a database that shares its
 * processor among all that run, and is fastest at a certain number of them. Virtual time, a fixed
 * seed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rate/bucket.h"
#include "dispatch/rate/pace.h"

#define STEP_NS 1000000LL /* of the simulation */
#define TASKS_MAX 1024

struct plant {
    /* the database */
    double best_at; /* runs so many at full speed */
    /* beyond that a task takes (n / best_at)^steep times as long: 1 saturates, more collapses */
    double steep;
    double run_s;  /* of a task, without pressure */
    double spread; /* sigma of its logarithm */
    double poison; /* part of the tasks that fail, at once */
    /* in front of it */
    int workers;
    double offered; /* tasks that arrive per second; 0: there is always one */
    struct pace_limits limits;
    bool adaptive;
    /* state */
    struct pace pace;
    struct bucket bucket;
    int64_t now_ns, second_ns;
    double waiting;
    struct {
        double left_s;
        int64_t handed_ns;
        bool fails;
    } tasks[TASKS_MAX];
    int count;
    uint64_t random;
    double load_slope; /* > 0: workers report this load for each task in flight, at most 1 */
    /* what was seen */
    long done, failed, started;
    double run_times[100000];
    int peak;
};

static double uniform(struct plant *p)
{
    p->random ^= p->random >> 12;
    p->random ^= p->random << 25;
    p->random ^= p->random >> 27;
    return ((double)((p->random * 2685821657736338717ULL) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct plant *p)
{
    return sqrt(-2 * log(uniform(p))) * cos(2 * M_PI * uniform(p));
}

static void begin(struct plant *p)
{
    p->random = p->random != 0 ? p->random : 88172645463325252ULL;
    pace_begin(&p->pace, p->count, p->now_ns);
    bucket_init(&p->bucket, p->limits.rate, fmax(1, p->limits.rate / 5), p->now_ns);
}

static double slowness(const struct plant *p)
{
    return p->count > p->best_at ? pow(p->count / p->best_at, p->steep) : 1;
}

static void hand_off(struct plant *p)
{
    while (p->count < p->workers && (p->offered == 0 || p->waiting >= 1)) {
        if (p->adaptive && p->count >= pace_window(&p->pace)) {
            pace_full(&p->pace);
            return;
        }
        if (!bucket_take(&p->bucket, p->now_ns))
            return;
        p->waiting -= p->offered > 0;
        bool fails = uniform(p) < p->poison;
        p->tasks[p->count].fails = fails;
        p->tasks[p->count].handed_ns = p->now_ns;
        p->tasks[p->count].left_s =
            fails ? 0.005 : p->run_s * exp(p->spread * normal(p) - p->spread * p->spread / 2);
        p->count++;
        p->started++;
        if (p->count > p->peak)
            p->peak = p->count;
    }
}

static void step(struct plant *p)
{
    double speed = STEP_NS / 1e9 / slowness(p);
    p->now_ns += STEP_NS;
    p->waiting += p->offered * STEP_NS / 1e9;
    for (int i = 0; i < p->count;) {
        p->tasks[i].left_s -= speed;
        if (p->tasks[i].left_s > 0) {
            i++;
            continue;
        }
        pace_ended(&p->pace, !p->tasks[i].fails, p->tasks[i].handed_ns, p->now_ns);
        if (p->tasks[i].fails)
            p->failed++;
        else
            p->run_times[p->done++ % 100000] = (double)(p->now_ns - p->tasks[i].handed_ns) / 1e9;
        p->tasks[i] = p->tasks[--p->count];
    }
    if (p->now_ns - p->second_ns >= 1000000000LL) {
        p->second_ns = p->now_ns;
        struct pace_observed told = {
            .load = p->load_slope > 0 ? fmin(p->load_slope * p->count, 1) : -1, .peak = p->peak};
        p->peak = p->count;
        if (p->adaptive) {
            pace_tick(&p->pace, &p->limits, &told, p->now_ns);
            double rate = pace_rate(&p->pace, &p->limits);
            bucket_set(&p->bucket, rate, fmax(1, (p->limits.rate > 0 ? p->limits.rate : rate) / 5),
                       p->now_ns);
        }
        if (getenv("PACE_SHOW") != NULL) {
            printf("%4.0f s window %3.0f phase %d in flight %3d done %6ld failed %6ld normal %.4f "
                   "rate %.1f\n",
                   (double)p->now_ns / 1e9, p->pace.window, p->pace.phase, p->count, p->done,
                   p->failed, pace_normal_s(&p->pace), pace_rate(&p->pace, &p->limits));
        }
    }
    hand_off(p);
}

/* Tasks done per second over so many seconds. */
static double run_for(struct plant *p, double seconds)
{
    int64_t until_ns = p->now_ns + (int64_t)(seconds * 1e9);
    long before = p->done;
    while (p->now_ns < until_ns)
        step(p);
    return (double)(p->done - before) / seconds;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 99th percentile of the run times of the last n tasks. */
static double p99(struct plant *p, long n)
{
    static double sorted[100000];
    long from = p->done - n;
    for (long i = 0; i < n; i++)
        sorted[i] = p->run_times[(from + i) % 100000];
    qsort(sorted, (size_t)n, sizeof(sorted[0]), by_size);
    return sorted[(long)((double)n * 0.99)];
}

static struct plant *make(void)
{
    struct plant *p = calloc(1, sizeof(*p));
    *p = (struct plant){
        .best_at = 20, .steep = 3, .run_s = 0.05, .spread = 0.3, .workers = 50, .adaptive = true};
    p->limits = (struct pace_limits){
        .rate = 1000, .tolerance = 1.15, .fail_ratio = 0.1, .most = 1000};
    return p;
}

static struct plant *plant(void)
{
    struct plant *p = make();
    begin(p);
    return p;
}

static double best(const struct plant *p)
{
    return p->best_at / p->run_s;
}

#define assert_at_least(x, least)                                   \
    do {                                                            \
        double x_ = (x), least_ = (least);                          \
        if (!(x_ >= least_))                                        \
            fail_msg("%s is %.4f, less than %.4f", #x, x_, least_); \
    } while (0)
#define assert_at_most(x, most) assert_at_least(-(x), -(most))

static void fixed_rate_collapses(void **state)
{
    (void)state;
    struct plant *p = make();
    p->adaptive = false;
    begin(p);
    run_for(p, 10);
    assert_at_most(run_for(p, 20), 0.3 * best(p));
    assert_at_least(p99(p, 1000), 10 * p->run_s);
    free(p);
}

static void keeps_to_its_best_whatever_the_collapse_is_like(void **state)
{
    (void)state;
    const double spreads[] = {0.01, 0.15, 0.5};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        for (double steep = 1; steep <= 4; steep++) {
            for (int i = 0; i < 3; i++) {
                struct plant *p = make();
                p->steep = steep;
                p->spread = spreads[i];
                p->random = 88172645463325252ULL + seed;
                begin(p);
                run_for(p, 30);
                assert_at_least(run_for(p, 60), 0.9 * best(p));
                double alone = p->run_s * exp(2.33 * p->spread - p->spread * p->spread / 2);
                assert_at_most(p99(p, 20000), 1.5 * alone);
                free(p);
            }
        }
    }
}

static void follows_a_dip_and_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct plant *p = make();
        p->random = seed * 7919;
        begin(p);
        run_for(p, 30);
        p->best_at = 8;
        run_for(p, 8);
        assert_at_least(run_for(p, 15), 0.8 * best(p));
        p->best_at = 20;
        run_for(p, 25);
        assert_at_least(run_for(p, 10), 0.9 * best(p));
        free(p);
    }
}

/* Whatever the window: it is not to be lowered for that, and what was lowered to find out is given
 * back. */
static void slower_for_reasons_of_its_own_does_not_throttle(void **state)
{
    (void)state;
    struct plant *p = plant();
    run_for(p, 30);
    p->run_s *= 3;
    run_for(p, 20);
    assert_at_least(run_for(p, 30), 0.85 * best(p));
    p->run_s /= 3;
    run_for(p, 20);
    assert_at_least(run_for(p, 30), 0.9 * best(p));
    free(p);
}

static void poison_does_not_throttle_for_ever(void **state)
{
    (void)state;
    struct plant *p = plant();
    run_for(p, 30);
    p->poison = 0.5;
    run_for(p, 15);
    double good = run_for(p, 20);
    assert_at_least(good, 0.8 * best(p));
    p->poison = 0;
    assert_at_least(run_for(p, 20), 0.85 * best(p));
    free(p);
}

/* Nothing gets through: few are tried, and when it works again the pool is. */
static void all_fail_means_few_are_tried(void **state)
{
    (void)state;
    struct plant *p = plant();
    run_for(p, 30);
    p->poison = 1;
    run_for(p, 15);
    assert_int_equal(pace_window(&p->pace), 1);
    run_for(p, 60);
    assert_int_equal(pace_window(&p->pace), 1);
    p->poison = 0;
    run_for(p, 40);
    assert_at_least(run_for(p, 10), 0.9 * best(p));
    p->poison = 1;
    run_for(p, 30);
    p->poison = 0.5; /* half of them are bad and stay so: that is how these tasks are */
    run_for(p, 60);
    assert_at_least(run_for(p, 10), 0.8 * best(p));
    free(p);
}

static void timeouts_lower_it(void **state)
{
    (void)state;
    struct plant *p = plant();
    run_for(p, 30);
    int64_t before = pace_window(&p->pace);
    for (int i = 0; i < 400; i++)
        pace_timed_out(&p->pace);
    run_for(p, 2);
    assert_true(pace_window(&p->pace) <= before * 3 / 4);
    run_for(p, 20);
    assert_at_least(run_for(p, 10), 0.9 * best(p));
    free(p);
}

static void without_a_configured_rate_the_window_alone_decides(void **state)
{
    (void)state;
    struct plant *p = make();
    p->limits.rate = 0;
    begin(p);
    assert_true(pace_rate(&p->pace, &p->limits) == 0);
    run_for(p, 30);
    assert_at_least(run_for(p, 30), 0.9 * best(p));
    assert_at_least(pace_rate(&p->pace, &p->limits), best(p));
    assert_at_most(pace_rate(&p->pace, &p->limits), 1.5 * best(p));
    free(p);
}

static void a_configured_rate_below_what_would_go_is_kept_in_full(void **state)
{
    (void)state;
    struct plant *p = make();
    p->limits.rate = 200;
    begin(p);
    run_for(p, 20);
    assert_at_least(run_for(p, 60), 0.99 * 200);
    assert_at_most(pace_rate(&p->pace, &p->limits), 200);
    free(p);
}

static void few_workers_are_used_in_full(void **state)
{
    (void)state;
    struct plant *p = make();
    p->workers = 10;
    begin(p);
    run_for(p, 20);
    assert_at_least(run_for(p, 30), 0.97 * 10 / p->run_s);
    /* and it does not run away from what is in flight */
    assert_true(pace_window(&p->pace) <= 16);
    free(p);
}

static void few_tasks_are_not_held_up(void **state)
{
    (void)state;
    struct plant *p = make();
    p->offered = 3;
    p->spread = 1;
    begin(p);
    run_for(p, 600);
    assert_at_least((double)p->done, 0.99 * 3 * 600 - 5);
    assert_true(p->waiting < 3);
    free(p);
}

/* Tasks of five minutes: a few are tried, and more when these have ended, not one after the
 * other. */
static void long_tasks_fill_the_workers_after_two_run_times(void **state)
{
    (void)state;
    struct plant *p = make();
    p->run_s = 300;
    p->best_at = 1000;
    begin(p);
    run_for(p, 20);
    assert_at_least(p->count, 20);
    run_for(p, 580);
    assert_int_equal(p->count, p->workers);
    run_for(p, 1200);
    assert_at_least(p->count, p->workers * 3 / 4);
    free(p);
}

static void tasks_of_very_different_length_are_not_throttled(void **state)
{
    (void)state;
    struct plant *p = make();
    p->spread = 2.5;
    p->workers = 20;
    begin(p);
    run_for(p, 60);
    assert_at_least(run_for(p, 120), 0.8 * best(p));
    free(p);
}

static void begins_over_the_knee_and_finds_it(void **state)
{
    (void)state;
    struct plant *p = make();
    p->best_at = 2;
    begin(p);
    run_for(p, 120);
    assert_at_least(run_for(p, 60), 0.8 * best(p));
    free(p);
}

static void a_new_leader_goes_on_from_what_is_in_flight(void **state)
{
    (void)state;
    struct plant *p = make();
    p->run_s = 10;
    begin(p);
    run_for(p, 200);
    int64_t before = pace_window(&p->pace);
    assert_at_least(before, 9);
    begin(p);
    assert_at_least(pace_window(&p->pace), before - 3);
    run_for(p, 200);
    assert_at_least(run_for(p, 400), 0.5 * best(p));
    free(p);
}

static void loaded_workers_get_less(void **state)
{
    (void)state;
    struct plant *p = make();
    p->best_at = 1000;
    p->load_slope = 1.0 / 15;
    begin(p);
    run_for(p, 60);
    assert_true(pace_window(&p->pace) >= 9 && pace_window(&p->pace) <= 15);
    p->load_slope = 0;
    run_for(p, 60);
    assert_int_equal(p->count, p->workers);
    free(p);
}

/* The machines have no room whatever is done here: no reason to stop. */
static void load_that_does_not_come_from_the_tasks_does_not_throttle(void **state)
{
    (void)state;
    struct plant *p = plant();
    run_for(p, 30);
    p->load_slope = 100;
    run_for(p, 30);
    assert_at_least(run_for(p, 30), 0.85 * best(p));
    free(p);
}

static void never_below_the_floor(void **state)
{
    (void)state;
    struct plant *p = make();
    p->limits.floor = 100;
    begin(p);
    run_for(p, 30);
    p->poison = 1;
    run_for(p, 30);
    assert_at_least(pace_rate(&p->pace, &p->limits), 100);
    assert_at_least(pace_window(&p->pace), 5);
    assert_at_most(pace_window(&p->pace), 6);
    free(p);
}

static void reported_errors_count_as_failures(void **state)
{
    (void)state;
    struct plant *p = plant();
    run_for(p, 30);
    int64_t before = pace_window(&p->pace);
    struct pace_observed told = {.load = -1, .errors = 300, .peak = 20};
    for (int i = 0; i < 400; i++)
        pace_ended(&p->pace, true, p->now_ns + 900000000, p->now_ns + 950000000);
    p->now_ns += 1000000000;
    assert_int_equal(pace_tick(&p->pace, &p->limits, &told, p->now_ns), PACE_FAILURES);
    assert_true(pace_window(&p->pace) < before);
    free(p);
}

/* Starts in any stretch of time are at most the burst and what the rates of the moment let through,
 * and so never more than the configured rate does. */
static void starts_stay_within_the_bucket_while_the_rate_moves(void **state)
{
    (void)state;
    struct plant *p = make();
    p->limits.rate = 300;
    double burst = 60, allowed = burst, configured = burst;
    begin(p);
    double lowest = 1e9, highest = 0;
    for (int i = 0; i < 120000; i++) {
        if (i % 20000 == 0)
            p->best_at = p->best_at > 10 ? 5 : 20;
        double rate = p->bucket.rate_per_s;
        lowest = fmin(lowest, rate);
        highest = fmax(highest, rate);
        step(p);
        allowed += fmax(rate, p->bucket.rate_per_s) * STEP_NS / 1e9;
        configured += 300 * STEP_NS / 1e9;
        assert_at_most((double)p->started, allowed);
        assert_at_most((double)p->started, configured);
    }
    assert_true(lowest < 150 && highest > 250); /* it did move */
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_rate_collapses),
        cmocka_unit_test(keeps_to_its_best_whatever_the_collapse_is_like),
        cmocka_unit_test(follows_a_dip_and_comes_back),
        cmocka_unit_test(slower_for_reasons_of_its_own_does_not_throttle),
        cmocka_unit_test(poison_does_not_throttle_for_ever),
        cmocka_unit_test(all_fail_means_few_are_tried),
        cmocka_unit_test(timeouts_lower_it),
        cmocka_unit_test(without_a_configured_rate_the_window_alone_decides),
        cmocka_unit_test(a_configured_rate_below_what_would_go_is_kept_in_full),
        cmocka_unit_test(few_workers_are_used_in_full),
        cmocka_unit_test(few_tasks_are_not_held_up),
        cmocka_unit_test(long_tasks_fill_the_workers_after_two_run_times),
        cmocka_unit_test(tasks_of_very_different_length_are_not_throttled),
        cmocka_unit_test(begins_over_the_knee_and_finds_it),
        cmocka_unit_test(a_new_leader_goes_on_from_what_is_in_flight),
        cmocka_unit_test(loaded_workers_get_less),
        cmocka_unit_test(load_that_does_not_come_from_the_tasks_does_not_throttle),
        cmocka_unit_test(never_below_the_floor),
        cmocka_unit_test(reported_errors_count_as_failures),
        cmocka_unit_test(starts_stay_within_the_bucket_while_the_rate_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
