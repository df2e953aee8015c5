#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text/duration.h"
#include "base/text/rfc3339.h"

#define S 1000000000LL
#define MS 1000000LL
#define EPOCH 1700000000000000000LL /* the server's clock when the local one is at 0 */

static void nothing_learnt_nothing_known(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = 5 * S;
    clock_init_fake(&c, &now);
    assert_false(clock_is_set(&c));
    assert_int_equal(clock_ax_ns(&c), 0);
    assert_int_equal(clock_behind_ns(&c), 0);
    assert_int_equal(clock_mono_ns(&c), 5 * S);
    clock_learn(&c, 0);
    clock_learn(&c, -5);
    clock_learn_answer(&c, 0, 0);
    assert_false(clock_is_set(&c));
    int64_t first = clock_stamp(&c);
    assert_true(clock_stamp(&c) > first);
}

static void old_messages_do_not_turn_time_back(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = 10 * S;
    clock_init_fake(&c, &now);
    clock_learn(&c, EPOCH + 2 * S); /* stored eight seconds ago */
    assert_int_equal(clock_ax_ns(&c), EPOCH + 2 * S);
    clock_learn(&c, EPOCH + 10 * S);
    assert_int_equal(clock_ax_ns(&c), EPOCH + 10 * S);
    for (int i = 0; i < 200; i++) { /* a backlog of an hour ago, for minutes */
        now += S;
        clock_learn(&c, EPOCH + now - 3600 * S);
        assert_int_equal(clock_ax_ns(&c), EPOCH + now);
        assert_int_equal(clock_behind_ns(&c), 0);
    }
}

static void an_answer_bounds_from_both_sides(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = 0;
    clock_init_fake(&c, &now);
    now = 4 * MS; /* asked at 0, stamped at 3 ms */
    clock_learn_answer(&c, EPOCH + 3 * MS, 0);
    assert_int_equal(clock_ax_ns(&c), EPOCH + 3 * MS);
    now = 10 * MS; /* a faster answer: stamped at 10, asked at 9 */
    clock_learn_answer(&c, EPOCH + 10 * MS, 9 * MS);
    assert_int_equal(clock_ax_ns(&c), EPOCH + 10 * MS);
    now = 3000 * MS; /* a slow one says nothing new, from either side */
    clock_learn_answer(&c, EPOCH + 1500 * MS, 1000 * MS);
    assert_int_equal(clock_ax_ns(&c), EPOCH + 3000 * MS);
    clock_learn_answer(&c, EPOCH, 4000 * MS); /* asked after the answer: nonsense */
    assert_int_equal(clock_ax_ns(&c), EPOCH + 3000 * MS);
}

static void drift_is_followed(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = 0;
    clock_init_fake(&c, &now);
    clock_learn(&c, EPOCH);
    for (int i = 0; i < 10000; i++) { /* our clock runs 100 ppm fast, answers take 2 ms */
        int64_t asked = now;
        now += 2 * MS;
        clock_learn_answer(&c, EPOCH + (int64_t)((double)(now - MS) * 0.9999), asked);
        int64_t error = clock_ax_ns(&c) - (EPOCH + (int64_t)((double)now * 0.9999));
        assert_in_range(error + 5 * MS, 0, 10 * MS);
        now += 5 * S;
    }
}

static void server_clock_stepped_back(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = 100 * S;
    clock_init_fake(&c, &now);
    clock_learn(&c, EPOCH + 100 * S);
    int64_t before = clock_ax_ns(&c);
    now += 5 * S;
    int64_t asked = now - MS, last = clock_ax_ns(&c);
    clock_learn_answer(&c, EPOCH + now - 30 * S, asked); /* set back by 30 s */
    assert_true(last > before);
    assert_int_equal(clock_ax_ns(&c), last);
    assert_in_range(clock_behind_ns(&c), 29 * S, 31 * S);
    assert_true(clock_behind_ns(&c) > CLOCK_BEHIND_LIMIT_NS);
    int64_t stamp = clock_stamp(&c);
    for (int i = 0; i < 29; i++) {
        now += S;
        assert_int_equal(clock_ax_ns(&c), last);
        int64_t next = clock_stamp(&c);
        assert_true(next > stamp);
        stamp = next;
    }
    now += 2 * S;
    assert_int_equal(clock_behind_ns(&c), 0);
    assert_true(clock_ax_ns(&c) > last);
    assert_in_range(clock_ax_ns(&c) - (EPOCH + now - 30 * S), 0, MS);
}

static void messages_of_before_the_step_do_not_hide_it(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = 100 * S;
    clock_init_fake(&c, &now);
    clock_learn_answer(&c, EPOCH + now, now);
    int64_t last = clock_ax_ns(&c);
    now += 5 * S;
    clock_learn_answer(&c, EPOCH + now - 3600 * S, now - MS);
    assert_true(clock_behind_ns(&c) > 3590 * S);
    /* a task that was stored just before the step and is due now */
    clock_learn(&c, EPOCH + 100 * S);
    assert_true(clock_behind_ns(&c) > 3590 * S);
    assert_int_equal(clock_ax_ns(&c), last);
    clock_learn(&c, EPOCH + now - 3600 * S); /* and one of after it */
    assert_true(clock_behind_ns(&c) > 3590 * S);
    clock_learn_answer(&c, EPOCH + now - 3600 * S, now - MS);
    assert_true(clock_behind_ns(&c) > 3590 * S);
    now += S; /* set right again: the next answer says so, and messages count again */
    clock_learn_answer(&c, EPOCH + now, now - MS);
    assert_int_equal(clock_behind_ns(&c), 0);
    assert_int_equal(clock_ax_ns(&c), EPOCH + now);
    clock_learn(&c, EPOCH + now + 2 * MS);
    assert_int_equal(clock_ax_ns(&c), EPOCH + now + 2 * MS);
}

static void steps_back_and_forward_never_turn_time_back(void **state)
{
    (void)state;
    static const int64_t steps_s[] = {0, -3600, 0, 3600, 0, -1, 1, -86400, 0};
    struct clock c;
    int64_t now = 0, last = 0, stamp = 0;
    clock_init_fake(&c, &now);
    for (size_t i = 0; i < sizeof(steps_s) / sizeof(*steps_s); i++) {
        for (int j = 0; j < 20; j++) {
            now += S / 2;
            clock_learn_answer(&c, EPOCH + now + steps_s[i] * S - MS, now - 2 * MS);
            clock_learn(&c, EPOCH + now + steps_s[i] * S - 10 * MS);
            int64_t ax = clock_ax_ns(&c), next = clock_stamp(&c);
            assert_true(ax >= last && next > stamp);
            /* Never ahead of the highest clock that the server has shown, never behind what it
             * shows now. */
            assert_true(ax >= EPOCH + now + steps_s[i] * S - 2 * MS);
            assert_int_equal(clock_behind_ns(&c) > CLOCK_BEHIND_LIMIT_NS,
                             last > EPOCH + now + steps_s[i] * S + CLOCK_BEHIND_LIMIT_NS);
            last = ax;
            stamp = next;
        }
    }
}

static void a_delay_is_right_whatever_the_host_says(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = 7 * S;
    /* the only clock of the host that is read; its wall clock has no way in */
    clock_init_fake(&c, &now);
    clock_learn_answer(&c, EPOCH + now, now - MS);
    int64_t due = clock_ax_ns(&c) + 10 * S;
    now += 10 * S - 1;
    assert_true(clock_ax_ns(&c) < due);
    now += 1;
    assert_int_equal(clock_ax_ns(&c), due);
    clock_init(&c);
    int64_t mono = clock_mono_ns(&c);
    struct timespec boot;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    assert_in_range(boot.tv_sec * S + boot.tv_nsec - mono, 0, S);
}

static void stamps_merge(void **state)
{
    (void)state;
    struct clock c;
    int64_t now = S;
    clock_init_fake(&c, &now);
    clock_merge(&c, EPOCH); /* nothing to judge it by yet */
    assert_true(clock_stamp(&c) < EPOCH);
    clock_learn(&c, EPOCH);
    int64_t ahead = EPOCH + 20 * S;
    clock_merge(&c, ahead);
    assert_int_equal(clock_stamp(&c), ahead + 1);
    clock_merge(&c, EPOCH + 3600 * S);
    clock_merge(&c, INT64_MAX);
    clock_merge(&c, INT64_MIN);
    assert_int_equal(clock_stamp(&c), ahead + 2);
    now += 30 * S;
    assert_int_equal(clock_stamp(&c), EPOCH + 30 * S);
}

static void real_clock_moves(void **state)
{
    (void)state;
    struct clock c;
    clock_init(&c);
    int64_t a = clock_mono_ns(&c), b = clock_mono_ns(&c);
    assert_true(a > 0 && b >= a);
}

struct race {
    struct clock *clock;
    bool ok;
};

static void *run_race(void *arg)
{
    struct race *r = arg;
    int64_t last_ax = 0, last_stamp = 0;
    for (int i = 0; i < 50000; i++) {
        clock_learn_answer(r->clock, EPOCH + (i % 7) * MS, clock_mono_ns(r->clock));
        int64_t ax = clock_ax_ns(r->clock), stamp = clock_stamp(r->clock);
        r->ok &= ax >= last_ax && stamp > last_stamp && stamp >= ax;
        last_ax = ax;
        last_stamp = stamp;
    }
    return NULL;
}

static void threads_never_see_time_run_back(void **state)
{
    (void)state;
    struct clock c;
    clock_init(&c);
    clock_learn(&c, EPOCH);
    struct race races[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        races[i] = (struct race){&c, true};
        assert_int_equal(pthread_create(&threads[i], NULL, run_race, &races[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_true(races[i].ok);
    }
}

static void rfc3339_good(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.000000001Z", 1},
        {"1969-12-31T23:59:59.5Z", -500000000},
        {"2026-01-02T03:04:05.000000006Z", 1767323045000000006},
        {"2026-01-02t03:04:05z", 1767323045000000000},
        {"2026-01-02T03:04:05.1234567891234Z", 1767323045123456789},
        {"2026-01-02T05:34:05+02:30", 1767323045000000000},
        {"2026-01-01T23:04:05-04:00", 1767323045000000000},
        {"2026-01-02T03:04:05-00:00", 1767323045000000000},
        {"2000-02-29T00:00:00Z", 951782400000000000},
        {"2024-02-29T00:00:00Z", 1709164800000000000},
        {"2262-04-11T23:47:16.854775807Z", INT64_MAX},
        {"1677-09-21T00:12:43.145224192Z", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = 42;
        if (!rfc3339_parse(cases[i].text, &ns) || ns != cases[i].ns) {
            fail_msg("%s gave %lld", cases[i].text, (long long)ns);
        }
    }
}

static void rfc3339_bad(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "now",
        "2026",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-1-02T03:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-01-00T03:04:05Z",
        "2026-01-32T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2025-02-29T03:04:05Z",
        "1900-02-29T03:04:05Z",
        "2100-02-29T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:05Z",
        "2026-12-31T23:59:60Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+02:60",
        "2026-01-02T03:04:05+0230",
        "2026-01-02T03:04:05+02",
        "2026-01-02T03:04:05Z ",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05ZZ",
        "+026-01-02T03:04:05Z",
        "-026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.-5Z",
        "2026-01-02T03:04:5Z",
        "2262-04-11T23:47:16.854775808Z",
        "1677-09-21T00:12:43.145224191Z",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-01-02T03:04:05UTC",
        "2026-01-02T03:04:05\xd9\xa0Z",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = 42;
        if (rfc3339_parse(cases[i], &ns) || ns != 42) {
            fail_msg("\"%s\" was accepted", cases[i]);
        }
    }
}

static void rfc3339_round_trip(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(rfc3339_format(1767323045000000006, buf), "2026-01-02T03:04:05.000000006Z");
    assert_string_equal(rfc3339_format(-1, buf), "1969-12-31T23:59:59.999999999Z");
    int64_t ns = INT64_MIN, back;
    for (;;) {
        assert_true(rfc3339_parse(rfc3339_format(ns, buf), &back));
        assert_int_equal(back, ns);
        if (__builtin_add_overflow(ns, 12345678901234567LL, &ns)) {
            break;
        }
    }
    assert_true(rfc3339_parse(rfc3339_format(INT64_MAX, buf), &back));
    assert_int_equal(back, INT64_MAX);
}

static void durations_good(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0s", 0},          {"0ms", 0},         {"1ms", 1},
        {"250ms", 250},     {"90s", 90000},     {"10m", 600000},
        {"1h30m", 5400000}, {"2d", 172800000},  {"1d1h1m1s1ms", 90061001},
        {"007s", 7000},     {"1m500ms", 60500}, {"100m", 6000000},
        {"1h0m", 3600000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = -1;
        if (!duration_parse(cases[i].text, INT64_MAX, &ms) || ms != cases[i].ms) {
            fail_msg("%s gave %lld", cases[i].text, (long long)ms);
        }
    }
}

static void durations_bad(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "0",
        "10",
        "s",
        "1.5s",
        "-1s",
        "+1s",
        " 1s",
        "1s ",
        "1 s",
        "1S",
        "1H",
        "1m1h",
        "1s1s",
        "1ms1s",
        "1h1",
        "1x",
        "1us",
        "1ns",
        "1w",
        "1hm",
        "1dh",
        "1mss",
        "1sm",
        "1smh",
        "0x10s",
        "1e3s",
        "9223372036854775808ms",
        "99999999999999999999999999d",
        "106751991168d",
        "106751991167d24h",
        "1,5s",
        "\xd9\xa1s",
        "1s\n",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = 42;
        if (duration_parse(cases[i], INT64_MAX, &ms) || ms != 42) {
            fail_msg("\"%s\" was accepted", cases[i]);
        }
    }
    int64_t ms;
    assert_true(duration_parse("1h", 3600000, &ms));
    assert_false(duration_parse("1h", 3599999, &ms));
    assert_false(duration_parse("59m60s1ms", 3600000, &ms));
}

static void durations_round_trip(void **state)
{
    (void)state;
    char buf[48];
    assert_string_equal(duration_format(0, buf), "0s");
    assert_string_equal(duration_format(90000, buf), "1m30s");
    assert_string_equal(duration_format(604800000, buf), "7d");
    assert_string_equal(duration_format(1, buf), "1ms");
    for (int64_t ms = 0; ms < INT64_MAX / 3; ms = ms * 3 + 1) {
        int64_t back = -1;
        assert_true(duration_parse(duration_format(ms, buf), INT64_MAX, &back));
        assert_int_equal(back, ms);
    }
    int64_t back;
    assert_true(duration_parse(duration_format(INT64_MAX, buf), INT64_MAX, &back));
    assert_int_equal(back, INT64_MAX);
    assert_true(strlen(buf) < 48);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_learnt_nothing_known),
        cmocka_unit_test(old_messages_do_not_turn_time_back),
        cmocka_unit_test(an_answer_bounds_from_both_sides),
        cmocka_unit_test(drift_is_followed),
        cmocka_unit_test(server_clock_stepped_back),
        cmocka_unit_test(messages_of_before_the_step_do_not_hide_it),
        cmocka_unit_test(steps_back_and_forward_never_turn_time_back),
        cmocka_unit_test(a_delay_is_right_whatever_the_host_says),
        cmocka_unit_test(stamps_merge),
        cmocka_unit_test(real_clock_moves),
        cmocka_unit_test(threads_never_see_time_run_back),
        cmocka_unit_test(rfc3339_good),
        cmocka_unit_test(rfc3339_bad),
        cmocka_unit_test(rfc3339_round_trip),
        cmocka_unit_test(durations_good),
        cmocka_unit_test(durations_bad),
        cmocka_unit_test(durations_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
