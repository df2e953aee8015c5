#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/flag.h"

struct values {
    bool json, stop;
    const char *text, *level;
    int64_t number, wait_ms, ttl_ms, size_bytes;
    struct flag_list list;
};

static struct values v;
static struct problem p;
static const struct flag_row rows[] = {
    {{"json", FLAG_BOOL, &v.json, 0, 0, NULL, ""}, 'j', NULL, NULL, NULL},
    {{"text", FLAG_TEXT, &v.text, 0, 0, "TEXT", ""}, 't', NULL, NULL, NULL},
    {{"level", FLAG_CHOICE, &v.level, 0, 0, "LEVEL", ""}, 0, NULL, "low|high", NULL},
    {{"number", FLAG_INT, &v.number, -1, 10, "N", ""}, 0, NULL, NULL, NULL},
    {{"wait", FLAG_OPTIONAL_MS, &v.wait_ms, 1, 60000, "DURATION", ""}, 0, NULL, NULL, NULL},
    {{"ttl", FLAG_MS, &v.ttl_ms, 1000, 60000, "DURATION", ""}, 0, NULL, NULL, NULL},
    {{"size", FLAG_BYTES, &v.size_bytes, 1024, 1LL << 40, "BYTES", ""}, 0, NULL, NULL, NULL},
    {{"list", FLAG_LIST, &v.list, 0, 0, "X", ""}, 0, NULL, NULL, NULL},
    {{"stop", FLAG_STOP, &v.stop, 0, 0, NULL, ""}, 0, NULL, NULL, NULL},
};

static int argc;
static char **argv;
static ax_err parse(bool stop_at_first, char **args)
{
    v = (struct values){.number = 3};
    p.text[0] = '\0';
    argv = args;
    for (argc = 0; args[argc] != NULL; argc++)
        ;
    return flag_parse(rows, sizeof(rows) / sizeof(*rows), stop_at_first, &argc, argv, &p);
}
#define PARSE(...) parse(false, (char *[]){__VA_ARGS__, NULL})

static void sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"1024", 1024},          {"1024B", 1024},        {"1KiB", 1024},
                {"256MiB", 256LL << 20}, {"1024GiB", 1LL << 40}, {"1TiB", 1LL << 40},
                {"0001MiB", 1LL << 20}};
    static const char *const bad[] = {
        "",      "MiB",   "1.5GiB", "1 GiB",       "-1GiB",
        "+1GiB", "1gib",  "1GB",    "1023",        "2TiB",
        "0",     "1GiBB", "0x400",  "16777216TiB", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(PARSE("--size", (char *)(uintptr_t)good[i].text), AX_OK);
        assert_int_equal(v.size_bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(PARSE("--size", (char *)(uintptr_t)bad[i]), AX_E_INVALID);
        assert_non_null(strstr(p.text, "a size from 1KiB to 1TiB, such as 64MiB or 1GiB"));
    }
}

static void a_value_follows_or_is_glued_on(void **state)
{
    (void)state;
    static char *const cases[][2] = {
        {"--text", "a=b"}, {"--text=a=b", NULL}, {"-t", "a=b"}, {"-ta=b", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *args[] = {"word", cases[i][0], cases[i][1], NULL};
        assert_int_equal(parse(false, args), AX_OK);
        assert_string_equal(v.text, "a=b");
        assert_int_equal(argc, 1);
        assert_string_equal(argv[0], "word");
    }
    assert_int_equal(PARSE("--number", "-1", "--level", "high", "-j", "--ttl=1m"), AX_OK);
    assert_int_equal(v.number, -1);
    assert_string_equal(v.level, "high");
    assert_true(v.json);
    assert_int_equal(v.ttl_ms, 60000);
    assert_int_equal(argc, 0);
}

static void the_first_word_may_end_the_flags(void **state)
{
    (void)state;
    char *args[] = {"--json", "work", "--text", "x", NULL};
    assert_int_equal(parse(true, args), AX_OK);
    assert_true(v.json);
    assert_null(v.text);
    assert_int_equal(argc, 3);
    assert_string_equal(argv[1], "--text");
}

static void stop_stops(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--json", "--stop", "--nothing"), AX_E_CLOSED);
    assert_true(v.json && v.stop);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static char *const cases[][4] = {
        {"--nothing", NULL, "--nothing: no such flag", "--help"},
        {"-x", NULL, "-x: no such flag", ""},
        {"--tex", "a", "--tex: no such flag", ""}, /* nothing may be cut short */
        {"--text", NULL, "--text: needs a value", "TEXT"},
        {"-t", NULL, "-t: needs a value", ""},
        {"--json=1", NULL, "--json: takes no value", "\"1\""},
        {"--level", "middle", "--level: \"middle\"", "low|high"},
        {"--number", "11", "--number: \"11\"", "-1 to 10"},
        {"--number", "+1", "--number: \"+1\"", "-1 to 10"},
        {"--wait=61s", NULL, "--wait: \"61s\"", "1ms to 1m"},
        {"--ttl", "999ms", "--ttl: \"999ms\"", "1s to 1m"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *args[] = {cases[i][0], cases[i][1], NULL};
        assert_int_equal(parse(false, args), AX_E_INVALID);
        if (strstr(p.text, cases[i][2]) == NULL || strstr(p.text, cases[i][3]) == NULL)
            fail_msg("\"%s\" does not say %s and %s", p.text, cases[i][2], cases[i][3]);
        assert_int_equal(v.number, 3);
    }
}

static void a_list_has_an_end(void **state)
{
    (void)state;
    char *args[FLAG_LIST_MAX + 2];
    for (int i = 0; i <= FLAG_LIST_MAX; i++)
        args[i] = "--list=x";
    args[FLAG_LIST_MAX] = NULL;
    assert_int_equal(parse(false, args), AX_OK);
    assert_int_equal(v.list.count, FLAG_LIST_MAX);
    args[FLAG_LIST_MAX] = "--list=x";
    args[FLAG_LIST_MAX + 1] = NULL;
    assert_int_equal(parse(false, args), AX_E_INVALID);
    assert_non_null(strstr(p.text, "--list"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_follows_or_is_glued_on),   cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(the_first_word_may_end_the_flags), cmocka_unit_test(stop_stops),
        cmocka_unit_test(what_is_wrong_is_named),           cmocka_unit_test(a_list_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
