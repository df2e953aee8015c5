#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/args.h"
#include "cli/cli.h"

static int nothing(struct cli *c)
{
    (void)c;
    return CLI_OK;
}

static const struct command command = {"test", "[FLAGS] WORD", "for the test", nothing, ""};

struct values {
    bool json;
    const char *text;
    int64_t number, wait_ms;
    struct flag_list list;
};

/* argv: NULL-terminated. */
static int parse(struct cli *c, struct values *v, char **argv, int min, int max)
{
    const struct flag flags[] = {
        {"json", FLAG_BOOL, &v->json, 0, 0, NULL, ""},
        {"text", FLAG_TEXT, &v->text, 0, 0, "TEXT", ""},
        {"number", FLAG_INT, &v->number, 1, 10, "N", ""},
        {"wait", FLAG_OPTIONAL_MS, &v->wait_ms, 1, 60000, "DURATION", ""},
        {"list", FLAG_LIST, &v->list, 0, 0, "X", ""},
    };
    *v = (struct values){.number = 3};
    *c = (struct cli){.command = &command, .argv = argv};
    while (argv[c->argc])
        c->argc++;
    return args_parse(c, flags, 5, min, max);
}
#define ARGV(...) ((char *[]){__VA_ARGS__, NULL})
#define A(s) ((char[]){s})

static void takes_flags_wherever_they_stand(void **state)
{
    (void)state;
    struct cli c;
    struct values v;
    char **argv = ARGV(A("one"), A("--json"), A("--text"), A("a b"), A("two"), A("--number=10"));
    assert_int_equal(parse(&c, &v, argv, 0, 9), -1);
    assert_true(v.json);
    assert_string_equal(v.text, "a b");
    assert_int_equal(v.number, 10);
    assert_int_equal(v.wait_ms, 0);
    assert_int_equal(c.argc, 2);
    assert_string_equal(c.argv[0], "one");
    assert_string_equal(c.argv[1], "two");
}

static void dash_and_what_follows_two_dashes_are_words(void **state)
{
    (void)state;
    struct cli c;
    struct values v;
    assert_int_equal(parse(&c, &v, ARGV(A("-"), A("--"), A("--json"), A("--nothing")), 0, 9), -1);
    assert_false(v.json);
    assert_int_equal(c.argc, 3);
    assert_string_equal(c.argv[0], "-");
    assert_string_equal(c.argv[2], "--nothing");
}

static void optional_durations_take_their_value_only_with_equals(void **state)
{
    (void)state;
    struct cli c;
    struct values v;
    assert_int_equal(parse(&c, &v, ARGV(A("--wait"), A("5s")), 0, 9), -1);
    assert_int_equal(v.wait_ms, 60000);
    assert_int_equal(c.argc, 1);
    assert_int_equal(parse(&c, &v, ARGV(A("--wait=5s")), 0, 9), -1);
    assert_int_equal(v.wait_ms, 5000);
}

static void lists_collect(void **state)
{
    (void)state;
    struct cli c;
    struct values v;
    assert_int_equal(parse(&c, &v, ARGV(A("--list"), A("a:1"), A("--list=b=2")), 0, 0), -1);
    assert_int_equal(v.list.count, 2);
    assert_string_equal(v.list.values[0], "a:1");
    assert_string_equal(v.list.values[1], "b=2");
}

static void flags_of_the_connection_are_passed_on(void **state)
{
    (void)state;
    struct cli c;
    struct values v;
    assert_int_equal(
        parse(&c, &v, ARGV(A("x"), A("--server"), A("nats://there:1"), A("--user=me")), 1, 1), -1);
    assert_string_equal(c.options.server, "nats://there:1");
    assert_string_equal(c.options.user, "me");
    assert_int_equal(parse(&c, &v, ARGV(A("-s"), A("nats://there:2")), 0, 0), -1);
    assert_string_equal(c.options.server, "nats://there:2");
}

static void wrong_usage_is_refused(void **state)
{
    (void)state;
    struct cli c;
    struct values v;
    assert_int_equal(parse(&c, &v, ARGV(A("--nope")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--text")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--json=1")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--number"), A("11")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--number"), A("0")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--number"), A("1x")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--number"), A("99999999999999999999")), 0, 9),
                     CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--wait=61s")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("--wait=soon")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("-j")), 0, 9), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("one")), 2, 2), CLI_USAGE);
    assert_int_equal(parse(&c, &v, ARGV(A("one"), A("two")), 0, 1), CLI_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_flags_wherever_they_stand),
        cmocka_unit_test(dash_and_what_follows_two_dashes_are_words),
        cmocka_unit_test(optional_durations_take_their_value_only_with_equals),
        cmocka_unit_test(lists_collect),
        cmocka_unit_test(flags_of_the_connection_are_passed_on),
        cmocka_unit_test(wrong_usage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
