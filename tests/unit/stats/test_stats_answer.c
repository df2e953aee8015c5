#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "stats/stats_answer.h"

static const struct stats_pool pool = {
    .pool = "email",
    .ready = true,
    .paused = "consumer",
    .busy = 0.5,
    .demand = 10,
    .pulls = 2,
    .inflight = 7,
    .max_ack_pending = 1000,
    .rate = 50,
    .rate_now = 25.5,
    .tokens = 3,
    .ack_wait_ms = 30000,
    .inflight_limit = 40,
    .unprovisioned = "maximum consumers limit",
    .run = {.count = 9, .p50_ms = 1.5, .p99_ms = 12.25},
    .silence = {.count = 9, .p50_ms = 1.25, .p99_ms = 11.5},
    .minute = {.seconds = 60, .pending_rise = -4, .handed_off = 8, .grouped_s = 3},
    .five_minutes = {.seconds = 300, .late_acks = 1, .leases_lapsed = 2, .waited_s = 200},
};

#define NO_OTHERS_MINUTE                                                         \
    "\"ended\":0,\"timeouts\":0,\"late_acks\":0,\"dead\":0,\"leases_lapsed\":0," \
    "\"waited_s\":0,\"limited_s\":0,\"capped_s\":0,\"leases_lost\":0,\"grouped_s\":3}"

static void check_json(const json_t *o, const char *wanted)
{
    json_t *parsed = json_loads(wanted, 0, NULL);
    assert_non_null(parsed);
    if (!json_equal(o, parsed)) {
        char *text = json_dumps(o, 0);
        fail_msg("%s instead of %s", text, wanted);
    }
    json_decref(parsed);
}

static void test_pool_is_written_as_the_protocol_says(void **state)
{
    (void)state;
    json_t *o = json_object();
    assert_true(stats_answer_put_pool(o, &pool, false));
    check_json(o, "{\"pool\":\"email\",\"ready\":true,\"paused\":\"consumer\",\"busy\":0.5,"
                  "\"demand\":10,\"pulls\":2,\"inflight\":7,\"max_ack_pending\":1000,"
                  "\"rate\":50.0,\"rate_now\":25.5,\"tokens\":3,\"ack_wait_ms\":30000,"
                  "\"inflight_limit\":40,\"unprovisioned\":\"maximum consumers limit\"}");
    assert_true(stats_answer_put_pool(o, &pool, true));
    check_json(json_object_get(o, "run"), "{\"count\":9,\"p50_ms\":1.5,\"p99_ms\":12.25}");
    check_json(json_object_get(o, "minute"),
               "{\"seconds\":60.0,\"pending_rise\":-4,\"handed_off\":8," NO_OTHERS_MINUTE);
    json_decref(o);
}

static void test_what_is_not_known_is_null(void **state)
{
    (void)state;
    struct stats_pool unknown = {.pool = "email",
                                 .busy = -1,
                                 .demand = -1,
                                 .tokens = -1,
                                 .max_ack_pending = -1,
                                 .inflight_limit = -1,
                                 .run = {.p50_ms = -1, .p99_ms = -1}};
    json_t *o = json_object();
    assert_true(stats_answer_put_pool(o, &unknown, true));
    const char *const nulls[] = {"paused",          "busy",           "demand",       "tokens",
                                 "max_ack_pending", "inflight_limit", "unprovisioned"};
    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
        assert_true(json_is_null(json_object_get(o, nulls[i])));
    check_json(json_object_get(o, "run"), "{\"count\":0,\"p50_ms\":null,\"p99_ms\":null}");
    json_decref(o);
}

static void test_pool_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct stats_pool back;
    json_t *o = json_object();
    assert_true(stats_answer_put_pool(o, &pool, true));
    json_object_set_new(o, "pending", json_pack("{s:i,s:n,s:i}", "high", 4, "mid", "low", 5));
    stats_answer_read_pool(o, &back);
    assert_true(back.answered);
    assert_int_equal(back.pending, 9);
    json_t *again = json_object();
    assert_true(stats_answer_put_pool(again, &back, true));
    json_object_del(o, "pending");
    assert_true(json_equal(o, again));
    json_decref(again);
    json_decref(o);
}

static void test_missing_fields_are_not_known(void **state)
{
    (void)state;
    struct stats_pool p;
    struct stats_daemon d;
    stats_answer_read_pool(NULL, &p);
    assert_false(p.answered);
    assert_true(p.busy == -1 && p.run.p50_ms == -1 && p.rate_now == 0);
    assert_int_equal(p.tokens, -1);
    assert_int_equal(p.minute.pending_rise, 0);
    json_t *o = json_pack("{s:s,s:s,s:n,s:s}", "program", "ax-ingress", "ready", "yes",
                          "host_clock_ahead_ms", "clock_behind_ms", "3");
    stats_answer_read_daemon(o, &d);
    assert_string_equal(d.program, "ax-ingress");
    assert_string_equal(d.name, "");
    assert_false(d.ready);
    assert_true(d.host_clock_ahead_ms == INT64_MIN && d.clock_behind_ms == INT64_MIN);
    json_decref(o);
}

static void test_ingress_is_written_as_the_protocol_says(void **state)
{
    (void)state;
    const struct stats_ingress ingress = {
        .working = 3,
        .later = {.tasks = 5, .limit = 100},
        .five_minutes = {
            .seconds = 12.5, .refused = 1, .unknown = 2, .buried = 3, .gaps = 4, .unreadable = 5}};
    const struct stats_priority priority = {
        .priority = "high", .tasks = 6, .limit = -1, .busy_answers = 7};
    json_t *o = json_object(), *q = json_object();
    assert_true(stats_answer_put_ingress(o, &ingress));
    check_json(
        o,
        "{\"working\":3,\"later\":{\"tasks\":5,\"limit\":100},\"five_minutes\":"
        "{\"seconds\":12.5,\"refused\":1,\"unknown\":2,\"buried\":3,\"gaps\":4,\"unreadable\":5}}");
    assert_true(stats_answer_put_priority(q, &priority));
    check_json(q, "{\"priority\":\"high\",\"tasks\":6,\"limit\":null,\"spilling\":false,"
                  "\"busy_answers\":7}");
    json_decref(o);
    json_decref(q);
}

static void test_daemon_tells_its_clock(void **state)
{
    (void)state;
    int64_t now_ns = 1000;
    struct clock clock;
    struct stats_daemon d;
    clock_init_fake(&clock, &now_ns);
    stats_answer_daemon(&d, "ax-dispatch", "d-1", true, &clock);
    assert_true(d.host_clock_ahead_ms == INT64_MIN && d.part == 1 && d.parts == 1);
    clock_learn(&clock, 1700000000000000000);
    stats_answer_daemon(&d, "ax-dispatch", "d-1", true, &clock);
    assert_true(d.host_clock_ahead_ms > 0); /* the host's clock shows a later year */
    json_t *o = json_object();
    assert_true(stats_answer_put_daemon(o, &d));
    assert_string_equal(json_string_value(json_object_get(o, "name")), "d-1");
    assert_true(json_is_true(json_object_get(o, "ready")));
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_is_written_as_the_protocol_says),
        cmocka_unit_test(test_what_is_not_known_is_null),
        cmocka_unit_test(test_pool_is_read_as_it_was_written),
        cmocka_unit_test(test_missing_fields_are_not_known),
        cmocka_unit_test(test_ingress_is_written_as_the_protocol_says),
        cmocka_unit_test(test_daemon_tells_its_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
