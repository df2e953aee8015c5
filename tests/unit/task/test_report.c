#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "task/peer/report.h"

static ax_err parse(struct report *r, const char *json, struct problem *p)
{
    return report_parse(r, NULL, json, strlen(json), p);
}

static void comes_back_as_packed(void **state)
{
    (void)state;
    struct report r = {.capacity = REPORT_CAPACITY_MAX,
                       .busy = 999999,
                       .load = 1,
                       .errors = REPORT_ERRORS_MAX,
                       .p50_ms = 0.5,
                       .p99_ms = REPORT_MS_MAX},
                  back;
    uint8_t buf[REPORT_MAX_BYTES];
    size_t n = report_pack(&r, buf);
    assert_true(n <= sizeof(buf));
    assert_int_equal(report_parse(&back, WORKER_SCHEMA, buf, n, NULL), AX_OK);
    assert_int_equal(back.capacity, r.capacity);
    assert_int_equal(back.busy, r.busy);
    assert_int_equal(back.errors, r.errors);
    assert_true(back.load == r.load && back.p50_ms == r.p50_ms && back.p99_ms == r.p99_ms);
}

static void json_has_the_same_fields(void **state)
{
    (void)state;
    struct report r;
    assert_int_equal(
        parse(
            &r,
            "{\"capacity\":8,\"busy\":3,\"load\":0.25,\"errors\":2,\"p50_ms\":10,\"p99_ms\":99.5}",
            NULL),
        AX_OK);
    assert_int_equal(r.capacity, 8);
    assert_int_equal(r.busy, 3);
    assert_true(r.load == 0.25);
    assert_int_equal(r.errors, 2);
    assert_true(r.p50_ms == 10 && r.p99_ms == 99.5);
    assert_int_equal(parse(&r, "{\"capacity\":1}", NULL), AX_OK);
    assert_true(r.busy == 0 && r.load == 0 && r.p50_ms == 0);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } bad[] = {
        {"", "a report must be a JSON object"},
        {"[]", "a report must be a JSON object"},
        {"{\"capacity\":1,\"capacity\":2}", "a report must be a JSON object"},
        {"{\"busy\":1}", "capacity: is missing"},
        {"{\"capacity\":-1}",
         "capacity: -1 is not allowed, must be a whole number from 0 to 1000000"},
        {"{\"capacity\":1.5}",
         "capacity: 1.5 is not allowed, must be a whole number from 0 to 1000000"},
        {"{\"capacity\":1000001}", "capacity: 1000001 is not allowed"},
        {"{\"capacity\":\"4\"}", "capacity: \"4\" is not allowed"},
        {"{\"capacity\":4,\"busy\":5}", "busy: 5 is not allowed, must be at most the capacity, 4"},
        {"{\"capacity\":4,\"load\":1.01}",
         "load: 1.01 is not allowed, must be a number from 0 to 1"},
        {"{\"capacity\":4,\"load\":null}", "load: null is not allowed"},
        {"{\"capacity\":4,\"p50_ms\":2,\"p99_ms\":1}",
         "p50_ms: 2 is not allowed, must be at most p99_ms, 1"},
        {"{\"capacity\":4,\"lod\":1}",
         "\"lod\" is no field of a report; allowed: capacity, busy, load, errors, p50_ms, p99_ms"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct report r = {.capacity = 77};
        struct problem p = {0};
        assert_int_equal(parse(&r, bad[i].json, &p), AX_E_INVALID);
        if (strncmp(p.text, bad[i].text, strlen(bad[i].text)) != 0)
            fail_msg("%s: %s", bad[i].json, p.text);
        assert_int_equal(r.capacity, 77);
    }
    struct report r;
    struct problem p;
    assert_int_equal(report_parse(&r, "ax.v1.Task", "", 0, &p), AX_E_INVALID);
    assert_int_equal(report_parse(&r, WORKER_SCHEMA, "\xff", 1, &p), AX_E_INVALID);
    struct report wrong = {.capacity = 1, .load = NAN};
    uint8_t buf[REPORT_MAX_BYTES];
    assert_int_equal(report_parse(&r, WORKER_SCHEMA, buf, report_pack(&wrong, buf), &p),
                     AX_E_INVALID);
    assert_non_null(strstr(p.text, "load: nan"));
}

static void subject_names_pool_and_worker(void **state)
{
    (void)state;
    char pool[NAME_MAX_CHARS + 1], worker[WORKER_NAME_MAX_CHARS + 1], subject[200];
    assert_true(report_parse_subject("ax.worker.email.host-1_a", pool, worker));
    assert_string_equal(pool, "email");
    assert_string_equal(worker, "host-1_a");
    assert_false(report_parse_subject("ax.worker.email", pool, worker));
    assert_false(report_parse_subject("ax.worker.email.", pool, worker));
    assert_false(report_parse_subject("ax.worker..x", pool, worker));
    assert_false(report_parse_subject("ax.worker.email.a.b", pool, worker));
    assert_false(report_parse_subject("ax.work.email.a", pool, worker));
    snprintf(subject, sizeof(subject), "ax.worker.email.%.64s",
             "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg");
    assert_true(report_parse_subject(subject, pool, worker));
    strcat(subject, "x");
    assert_false(report_parse_subject(subject, pool, worker));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_packed),
        cmocka_unit_test(json_has_the_same_fields),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(subject_names_pool_and_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
