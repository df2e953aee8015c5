#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "ingress/submit/answer.h"

static void an_accepted_task_looks_like_a_puback(void **state)
{
    (void)state;
    char buf[ANSWER_MAX_BYTES];
    struct verdict v = {.stream = "AX_HIGH",
                        .seq = UINT64_MAX,
                        .duplicate = true,
                        .task = "abc",
                        .state = "queued"};
    size_t n = answer_format(&v, buf, sizeof(buf));
    assert_int_equal(n, strlen(buf));
    assert_string_equal(
        buf,
        "{\"stream\":\"AX_HIGH\",\"seq\":18446744073709551615,\"duplicate\":true,\"task\":\"abc\","
        "\"state\":\"queued\"}");
}

static json_t *error_of(const struct verdict *v, json_t **root)
{
    char buf[ANSWER_MAX_BYTES];
    size_t n = answer_format(v, buf, sizeof(buf));
    *root = json_loadb(buf, n, 0, NULL); /* jansson refuses what is not UTF-8 */
    assert_non_null(*root);
    json_t *e = json_object_get(*root, "error");
    assert_non_null(e);
    return e;
}

static void an_error_holds_code_and_description(void **state)
{
    (void)state;
    struct verdict v;
    json_t *root;
    answer_set_error(&v, 503, JSERR_STORE_FULL, 250, "queue %s is full (%d tasks), retry in %dms",
                     "high", 1000, 250);
    json_t *e = error_of(&v, &root);
    assert_int_equal(json_integer_value(json_object_get(e, "code")), 503);
    assert_int_equal(json_integer_value(json_object_get(e, "err_code")), 10077);
    assert_string_equal(json_string_value(json_object_get(e, "description")),
                        "queue high is full (1000 tasks), retry in 250ms");
    json_decref(root);
}

/* Descriptions quote what strangers sent: every byte, anywhere, also where the text is cut, must
 * give valid JSON. */
static void any_bytes_give_valid_json(void **state)
{
    (void)state;
    static const char *const texts[] = {"\"quotes\" and \\ back\\slashes",
                                        "tab\tnewline\nbell\a del\x7f",
                                        "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80",
                                        "\xff\xfe\xc3",
                                        "\xc0\xaf",
                                        "\xe0\x80\x80",
                                        "\xed\xa0\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf0\x9f\x98",
                                        "\xe2\x82",
                                        ""};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (int pad = 0; pad < 400; pad++) {
            struct verdict v;
            json_t *root;
            answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0, "%*s%s%s", pad, "", texts[i], texts[i]);
            error_of(&v, &root);
            json_decref(root);
        }
    }
    for (int a = 1; a < 256; a++) {
        for (int b = 1; b < 256; b++) {
            struct verdict v;
            json_t *root;
            answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0, "%c%c", a, b);
            error_of(&v, &root);
            json_decref(root);
        }
    }
}

/* An answer is shown to people, and programs write it to logs. */
static void nothing_in_it_steers_a_terminal(void **state)
{
    (void)state;
    struct verdict v;
    json_t *root;
    answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0, "%s",
                     "a\x1b\x07\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\x9b\x7f "
                     "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 ü");
    json_t *e = error_of(&v, &root);
    assert_string_equal(json_string_value(json_object_get(e, "description")),
                        "a??????? \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 ü");
    json_decref(root);
}

static void the_longest_description_fits(void **state)
{
    (void)state;
    char quotes[500];
    struct verdict v;
    json_t *root;
    memset(quotes, '"', sizeof(quotes) - 1);
    quotes[sizeof(quotes) - 1] = '\0';
    answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0, "%s", quotes);
    json_t *e = error_of(&v, &root);
    assert_int_equal(json_string_length(json_object_get(e, "description")),
                     sizeof(v.description) - 1);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_accepted_task_looks_like_a_puback),
        cmocka_unit_test(an_error_holds_code_and_description),
        cmocka_unit_test(any_bytes_give_valid_json),
        cmocka_unit_test(nothing_in_it_steers_a_terminal),
        cmocka_unit_test(the_longest_description_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
