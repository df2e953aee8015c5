#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/duration.h"
#include "task/settings.h"

#define DAY_MS 86400000LL

static ax_err parse(struct settings *s, const char *json, struct problem *p)
{
    /* an exact copy on the heap, so that a sanitizer sees a read beyond the end */
    size_t bytes = strlen(json);
    char *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, json, bytes);
    copy = realloc(copy, bytes > 0 ? bytes : 1);
    ax_err err = settings_parse(s, copy, bytes, p);
    free(copy);
    return err;
}

static void check_same(const struct settings *a, const struct settings *b)
{
    assert_true(a->rate == b->rate);
    assert_true(a->burst == b->burst);
    assert_int_equal(a->batch, b->batch);
    assert_true(a->share == b->share);
    assert_int_equal(a->max_retry, b->max_retry);
    assert_int_equal(a->backoff_ms, b->backoff_ms);
    assert_int_equal(a->backoff_cap_ms, b->backoff_cap_ms);
    assert_int_equal(a->max_timeouts, b->max_timeouts);
    assert_int_equal(a->window_ms, b->window_ms);
    assert_int_equal(a->paused, b->paused);
    assert_int_equal(a->adaptive, b->adaptive);
    assert_true(a->rate_floor == b->rate_floor && a->tolerance == b->tolerance &&
                a->fail_ratio == b->fail_ratio);
    assert_true(a->group_rate == b->group_rate);
    assert_true(a->group_burst == b->group_burst);
    assert_int_equal(a->group_concurrency, b->group_concurrency);
    assert_int_equal(a->group_weight, b->group_weight);
    assert_int_equal(a->group_weights.count, b->group_weights.count);
    for (int i = 0; i < a->group_weights.count; i++) {
        assert_string_equal(a->group_weights.list[i].group, b->group_weights.list[i].group);
        assert_int_equal(a->group_weights.list[i].weight, b->group_weights.list[i].weight);
    }
}

/* Refused, *s untouched, and the message holds each of the words. */
static void check_refused(const char *json, const char *word, const char *second)
{
    struct settings s, before;
    struct problem p = {0};
    settings_default(&s);
    s.rate = 77;
    before = s;
    if (parse(&s, json, &p) != AX_E_INVALID) {
        fail_msg("%s was accepted", json);
    }
    check_same(&s, &before);
    if (strstr(p.text, word) == NULL || (second != NULL && strstr(p.text, second) == NULL)) {
        fail_msg("%s gave: %s", json, p.text);
    }
    assert_null(strchr(p.text, '\n'));
    assert_int_equal(parse(&s, json, NULL), AX_E_INVALID);
}

static void empty_is_all_defaults(void **state)
{
    (void)state;
    struct settings want, s;
    settings_default(&want);
    assert_int_equal(want.batch, 20);
    assert_int_equal(want.max_retry, 3);
    assert_int_equal(want.backoff_ms, 30000);
    assert_int_equal(want.backoff_cap_ms, 3600000);
    assert_int_equal(want.max_timeouts, 10);
    assert_int_equal(want.window_ms, 7 * DAY_MS);
    assert_true(!want.adaptive && want.rate_floor == 0 && want.tolerance == 1.15 &&
                want.fail_ratio == 0.1);
    assert_true(want.rate == 0 && want.burst == 1 && want.share == 0.05);
    memset(&s, 0x55, sizeof(s));
    assert_int_equal(settings_parse(&s, NULL, 0, NULL), AX_OK);
    check_same(&s, &want);
    memset(&s, 0x55, sizeof(s));
    assert_int_equal(parse(&s, "{}", NULL), AX_OK);
    check_same(&s, &want);
}

static void every_field_is_read(void **state)
{
    (void)state;
    struct settings s;
    assert_int_equal(
        parse(&s,
              "{\"rate\":50.5,\"burst\":12,\"adaptive\":true,\"rate_floor\":2,\"tolerance\":1.5,"
              "\"fail_ratio\":1,\"batch\":1,\"share\":0.5,\"max_retry\":0,\"backoff\":\"1ms\","
              "\"backoff_cap\":\"1d\",\"max_timeouts\":1000,\"window\":\"1m\",\"paused\":true,"
              "\"group_rate\":5,\"group_burst\":2,"
              "\"group_concurrency\":4,\"group_weight\":2,\"group_weights\":{\"acme\":3,\"a "
              "b\":100}}",
              NULL),
        AX_OK);
    const struct settings want = {.rate = 50.5,
                                  .burst = 12,
                                  .adaptive = true,
                                  .rate_floor = 2,
                                  .tolerance = 1.5,
                                  .fail_ratio = 1,
                                  .batch = 1,
                                  .share = 0.5,
                                  .max_retry = 0,
                                  .backoff_ms = 1,
                                  .backoff_cap_ms = DAY_MS,
                                  .max_timeouts = 1000,
                                  .window_ms = 60000,
                                  .paused = true,
                                  .group_rate = 5,
                                  .group_burst = 2,
                                  .group_concurrency = 4,
                                  .group_weight = 2,
                                  .group_weights = {2, {{"acme", 3}, {"a b", 100}}}};
    check_same(&s, &want);
    assert_int_equal(settings_weight(&s, "acme"), 3);
    assert_int_equal(settings_weight(&s, "other"), 2);
    assert_int_equal(settings_weight(&s, NULL), 2);
}

static void groups(void **state)
{
    (void)state;
    struct settings s;
    struct problem p = {0};
    settings_default(&s);
    assert_false(settings_limit_groups(&s));
    assert_int_equal(settings_set(&s, "group_rate", "50", &p), AX_OK);
    assert_true(s.group_burst == 10);
    assert_true(settings_limit_groups(&s));
    assert_int_equal(settings_set(&s, "group_weights", "{\"acme\":3}", &p), AX_OK);
    assert_int_equal(settings_weight(&s, "acme"), 3);
    static const char *const bad[] = {"3",
                                      "acme:3",
                                      "[]",
                                      "{\"acme\":0}",
                                      "{\"acme\":101}",
                                      "{\"acme\":1.5}",
                                      "{\"\":1}",
                                      "{\" acme\":1}",
                                      "{\"a\\nb\":1}",
                                      "{\"a\":1,\"a\":2}",
                                      "{\"acme\":\"3\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (settings_set(&s, "group_weights", bad[i], &p) != AX_E_INVALID ||
            strstr(p.text, "group_weights") == NULL) {
            fail_msg("%s: %s", bad[i], p.text);
        }
        assert_int_equal(settings_weight(&s, "acme"), 3);
    }
    char many[4000] = "{", name[80];
    for (int i = 0; i <= SETTINGS_WEIGHTS_MAX; i++) {
        if (i == SETTINGS_WEIGHTS_MAX) {
            many[strlen(many) - 1] = '}';
            assert_int_equal(settings_set(&s, "group_weights", many, &p), AX_OK);
            assert_int_equal(settings_weight(&s, "g127"), 100);
            many[strlen(many) - 1] = ',';
        }
        snprintf(name, sizeof(name), "\"g%d\":100,", i);
        strcat(many, name);
    }
    many[strlen(many) - 1] = '}';
    assert_int_equal(settings_set(&s, "group_weights", many, &p), AX_E_INVALID);
    memset(name, 'x', sizeof(name));
    snprintf(many, sizeof(many), "{\"%.64s\":7}", name);
    assert_int_equal(settings_set(&s, "group_weights", many, &p), AX_OK);
    snprintf(many, sizeof(many), "{\"%.65s\":7}", name);
    assert_int_equal(settings_set(&s, "group_weights", many, &p), AX_E_INVALID);
}

static void burst_follows_the_rate(void **state)
{
    (void)state;
    struct settings s;
    assert_int_equal(parse(&s, "{\"rate\":50}", NULL), AX_OK);
    assert_true(s.burst == 10);
    assert_int_equal(parse(&s, "{\"rate\":2}", NULL), AX_OK);
    assert_true(s.burst == 1);
    assert_int_equal(settings_set(&s, "rate", "100", NULL), AX_OK);
    assert_true(s.burst == 20);
    assert_int_equal(settings_set(&s, "burst", "7", NULL), AX_OK);
    assert_int_equal(settings_set(&s, "rate", "200", NULL), AX_OK);
    assert_true(s.burst == 7);
}

static void out_of_range_names_the_field(void **state)
{
    (void)state;
    check_refused("{\"rate\":-1}", "rate: -1", "1000000");
    check_refused("{\"rate\":1000001}", "rate: 1000001", "1000000");
    check_refused("{\"rate\":\"50\"}", "rate: \"50\"", "number");
    check_refused("{\"rate\":null}", "rate: null", NULL);
    check_refused("{\"rate\":true}", "rate: true", NULL);
    check_refused("{\"rate\":1e400}", "JSON", NULL);
    check_refused("{\"burst\":0}", "burst: 0", "from 1");
    check_refused("{\"burst\":0.5}", "burst: 0.5", "from 1");
    check_refused("{\"batch\":0}", "batch: 0", "1000");
    check_refused("{\"batch\":1001}", "batch: 1001", "1000");
    check_refused("{\"batch\":20.5}", "batch: 20.5", "whole number");
    check_refused("{\"batch\":9223372036854775807}", "batch", NULL);
    check_refused("{\"batch\":99999999999999999999}", "JSON", NULL);
    check_refused("{\"share\":0.51}", "share: 0.51", "0.5");
    check_refused("{\"max_retry\":-1}", "max_retry: -1", "1000");
    check_refused("{\"max_retry\":4294967296}", "max_retry", "1000");
    check_refused("{\"backoff\":30}", "backoff: 30", "\"1ms\"");
    check_refused("{\"backoff\":\"30\"}", "backoff: \"30\"", "\"1h\"");
    check_refused("{\"backoff\":\"0s\"}", "backoff: \"0s\"", "\"1ms\"");
    check_refused("{\"backoff\":\"61m\"}", "backoff: \"61m\"", "\"1h\"");
    check_refused("{\"backoff_cap\":\"25h\"}", "backoff_cap", "\"1d\"");
    check_refused("{\"max_timeouts\":1001}", "max_timeouts", "1000");
    check_refused("{\"adaptive\":1}", "adaptive: 1", "true or false");
    check_refused("{\"rate_floor\":-1}", "rate_floor: -1", "from 0 to 1000000");
    check_refused("{\"tolerance\":1}", "tolerance: 1", "from 1.02 to 10");
    check_refused("{\"fail_ratio\":0}", "fail_ratio: 0", "from 0.01 to 1");
    check_refused("{\"paused\":1}", "paused: 1", "true or false");
    check_refused("{\"paused\":\"yes\"}", "paused: \"yes\"", "true or false");
    check_refused("{\"window\":\"59s\"}", "window", "\"1m\"");
    check_refused("{\"window\":\"8d\"}", "window", "\"7d\"");
    check_refused("{\"batch\":[1]}", "batch: [1]", NULL);
}

static void odd_documents_are_refused(void **state)
{
    (void)state;
    check_refused("{\"rat\":50}", "\"rat\"", "backoff_cap");
    check_refused("{\"Rate\":50}", "\"Rate\"", "rate, burst");
    check_refused("{\"\":1}", "\"\"", "rate, burst");
    check_refused("{\"a\\nb\":1}", "\"a?b\"", NULL);
    check_refused("{\"rate\":1,\"rate\":2}", "duplicate", NULL);
    check_refused("[50]", "[50]", "JSON object");
    check_refused("50", "JSON", NULL);
    check_refused("rate", "JSON", NULL);
    check_refused("{\"rate\":50", "JSON", NULL);
    check_refused("{\"rate\":50}}", "JSON", NULL);
    check_refused("{\"rate\":.5}", "JSON", NULL);
    check_refused("{\"rate\":1,5}", "JSON", NULL);
    check_refused("{\"rate\":NaN}", "JSON", NULL);
    check_refused("{'rate':50}", "JSON", NULL);
    check_refused("{\"\xff\xfe\":50}", "JSON", NULL);
    check_refused("{\"rate\n\x01", "JSON", NULL);
    struct settings s;
    struct problem p;
    char zero[] = "{}\0";
    assert_int_equal(settings_parse(&s, zero, 3, &p), AX_E_INVALID);
    char *deep = malloc(100001);
    assert_non_null(deep);
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    check_refused(deep, "JSON", NULL);
    /* a name of any length fits into the message, and the names that are allowed still follow */
    memcpy(deep, "{\"", 2);
    memset(deep + 2, 'x', 5000);
    strcpy(deep + 5002, "\":1}");
    check_refused(deep, "xxx...", "window");
    free(deep);
}

static void set_takes_what_the_bucket_takes(void **state)
{
    (void)state;
    struct settings s;
    struct problem p = {0};
    settings_default(&s);
    assert_int_equal(settings_set(&s, "rate", "50.25", &p), AX_OK);
    assert_int_equal(settings_set(&s, "batch", "7", &p), AX_OK);
    assert_int_equal(settings_set(&s, "backoff", "1m30s", &p), AX_OK);
    assert_int_equal(settings_set(&s, "max_timeouts", "0", &p), AX_OK);
    assert_true(s.rate == 50.25);
    assert_int_equal(s.batch, 7);
    assert_int_equal(s.backoff_ms, 90000);
    assert_int_equal(s.max_timeouts, 0);
    static const char *const bad[][2] = {
        {"rate", ""},      {"rate", "fast"},  {"rate", " 5"},      {"rate", "5 "},
        {"rate", "0x10"},  {"rate", "inf"},   {"rate", "nan"},     {"rate", "1,5"},
        {"rate", "+5"},    {"rate", "5x"},    {"rate", "-5"},      {"rate", "1e999"},
        {"rate", "true"},  {"rate", "[5]"},   {"batch", "1.5"},    {"batch", "1e2"},
        {"batch", "1001"}, {"batch", "\xff"}, {"batch", "007"},    {"backoff", "30"},
        {"backoff", ""},   {"backoff", "2h"}, {"backoff", "\xff"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct settings before = s;
        p.text[0] = '\0';
        if (settings_set(&s, bad[i][0], bad[i][1], &p) != AX_E_INVALID ||
            strstr(p.text, bad[i][0]) == NULL) {
            fail_msg("%s \"%s\": %s", bad[i][0], bad[i][1], p.text);
        }
        check_same(&s, &before);
    }
    assert_int_equal(settings_set(&s, "speed", "5", &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "\"speed\""));
    assert_non_null(strstr(p.text, "max_timeouts"));
}

static void check_format(const struct settings *s, const char *want)
{
    char *text = settings_format(s);
    assert_non_null(text);
    if (want != NULL) {
        assert_string_equal(text, want);
    }
    struct settings back;
    struct problem p = {0};
    if (parse(&back, text, &p) != AX_OK) {
        fail_msg("%s: %s", text, p.text);
    }
    check_same(&back, s);
    free(text);
}

static void format_comes_back(void **state)
{
    (void)state;
    struct settings s;
    settings_default(&s);
    check_format(&s, "{}");
    assert_int_equal(parse(&s, "{\"rate\":50}", NULL), AX_OK);
    check_format(&s, "{\"rate\":50}");
    assert_int_equal(
        parse(&s, "{\"rate\":50,\"burst\":10,\"share\":0.07,\"window\":\"36h\"}", NULL), AX_OK);
    check_format(&s, "{\"rate\":50,\"share\":0.07,\"window\":\"1d12h\"}");
    assert_int_equal(parse(&s, "{\"group_rate\":50,\"group_weights\":{\"acme\":3}}", NULL), AX_OK);
    check_format(&s, "{\"group_rate\":50,\"group_weights\":{\"acme\":3}}");
    const char *other =
        "{\"rate\":0.1,\"burst\":3.5,\"batch\":1000,\"max_retry\":0,\"backoff_cap\":\"1ms\"}";
    assert_int_equal(parse(&s, other, NULL), AX_OK);
    check_format(&s, other);
    srand48(7);
    for (int i = 0; i < 2000; i++) {
        s = (struct settings){.rate = drand48() * 1e6,
                              .burst = 1 + drand48() * 999999,
                              .adaptive = lrand48() % 2,
                              .rate_floor = lrand48() % 2 ? drand48() * 1e6 : 0,
                              .tolerance = 1.02 + drand48() * 8.98,
                              .fail_ratio = 0.01 + drand48() * 0.99,
                              .batch = 1 + lrand48() % 1000,
                              .share = drand48() / 2,
                              .max_retry = lrand48() % 1001,
                              .backoff_ms = 1 + lrand48() % 3600000,
                              .backoff_cap_ms = 1 + lrand48() % DAY_MS,
                              .group_rate = lrand48() % 2 ? drand48() * 1e6 : 0,
                              .group_burst = 1 + drand48() * 999999,
                              .group_concurrency = lrand48() % 1000001,
                              .group_weight = 1 + lrand48() % 100,
                              .max_timeouts = lrand48() % 1001,
                              .window_ms = 60000 + lrand48() % (7 * DAY_MS - 60000)};
        check_format(&s, NULL);
    }
}

/* n as a value of the kind, as `ax pool set` takes it. */
static void value_of(const char *kind, double n, char out[64])
{
    char text[48];
    if (strcmp(kind, "SWITCH") == 0)
        strcpy(out, n != 0 ? "true" : "false");
    else if (strcmp(kind, "DURATION") == 0)
        snprintf(out, 64, "%s", duration_format((int64_t)n, text));
    else if (strcmp(kind, "WEIGHTS") == 0)
        snprintf(out, 64, "{\"acme\":%.0f}", n);
    else
        snprintf(out, 64, "%.10g", n);
}

static void every_row_takes_its_range_and_comes_back(void **state)
{
    (void)state;
    static const struct {
        const char *name, *kind, *help;
        double ends[2];
    } rows[] = {
#define X(field, name, kind, min, max, standard, help) {#name, #kind, help, {min, max}},
        SETTINGS_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char formatted[2][256];
        assert_true(rows[i].help[0] != '\0');
        for (int j = 0; j < 2; j++) {
            struct settings s, defaults;
            struct problem p = {0};
            char text[64];
            settings_default(&s);
            defaults = s;
            value_of(rows[i].kind, rows[i].ends[j], text);
            if (settings_set(&s, rows[i].name, text, &p) != AX_OK)
                fail_msg("%s %s: %s", rows[i].name, text, p.text);
            check_format(&s, NULL);
            char *json = settings_format(&s);
            snprintf(formatted[j], sizeof(formatted[j]), "%s", json);
            assert_int_equal(strstr(json, rows[i].name) != NULL, strcmp(json, "{}") != 0);
            free(json);
            if (strcmp(rows[i].kind, "SWITCH") == 0)
                continue;
            value_of(rows[i].kind, rows[i].ends[j] + (j == 0 ? -1 : 1), text);
            s = defaults;
            assert_int_equal(settings_set(&s, rows[i].name, text, &p), AX_E_INVALID);
            assert_non_null(strstr(p.text, rows[i].name));
            check_same(&s, &defaults);
        }
        assert_string_not_equal(formatted[0], formatted[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups),
        cmocka_unit_test(empty_is_all_defaults),
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(burst_follows_the_rate),
        cmocka_unit_test(out_of_range_names_the_field),
        cmocka_unit_test(odd_documents_are_refused),
        cmocka_unit_test(set_takes_what_the_bucket_takes),
        cmocka_unit_test(format_comes_back),
        cmocka_unit_test(every_row_takes_its_range_and_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
