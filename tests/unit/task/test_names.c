#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "task/names.h"

#define CHARS_32 "abcdefghijklmnopqrstuvwxyz012345"

static void names_take_letters_digits_underscore_dash(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "email", "E-mail_2", "0", "_", "-", CHARS_32};
    static const char *const bad[] = {"",    "a.b", "a b",       "a*", ">", "caf\xc3\xa9",
                                      "a\n", "a/b", CHARS_32 "6"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(name_is_valid(good[i]));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_false(name_is_valid(bad[i]));
    }
    assert_true(name_is_valid_n("email.x", 5));
    assert_false(name_is_valid_n("email.x", 6));
    assert_false(name_is_valid_n("a\0b", 3));
}

static void task_ids_are_letters_and_digits(void **state)
{
    (void)state;
    assert_true(name_is_task_id(CHARS_32));
    assert_true(name_is_task_id("A"));
    assert_false(name_is_task_id(""));
    assert_false(name_is_task_id("a-b"));
    assert_false(name_is_task_id("a.b"));
    assert_false(name_is_task_id(CHARS_32 "6"));
}

static void submit_subjects(void **state)
{
    (void)state;
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    struct problem p;
    assert_int_equal(name_parse_submit("ax.submit.high", priority, pool, &p), AX_OK);
    assert_string_equal(priority, "high");
    assert_string_equal(pool, "default");
    assert_int_equal(name_parse_submit("ax.submit.low.email-2", priority, pool, NULL), AX_OK);
    assert_string_equal(priority, "low");
    assert_string_equal(pool, "email-2");
    assert_int_equal(name_parse_submit("ax.submit." CHARS_32 "." CHARS_32, priority, pool, NULL),
                     AX_OK);
    assert_string_equal(pool, CHARS_32);
}

static void bad_submit_subjects_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *subject, *says;
    } cases[] = {
        {"ax.submit.", "ax.submit.<priority>"},
        {"ax.submit", "ax.submit.<priority>"},
        {"ax.work.high", "\"ax.work.high\""},
        {"", "ax.submit.<priority>"},
        {"ax.submit.high.email.x", "ax.submit.<priority>.<pool>"},
        {"ax.submit.high.", "pool \"\""},
        {"ax.submit..email", "priority \"\""},
        {"ax.submit.hi gh.email", "priority \"hi gh\""},
        {"ax.submit.high.caf\xc3\xa9", "pool \"caf??\""},
        {"ax.submit.high." CHARS_32 "6", "1 to 32 of A-Z a-z 0-9 _ -"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
        struct problem p = {0};
        assert_int_equal(name_parse_submit(cases[i].subject, priority, pool, &p), AX_E_INVALID);
        assert_int_equal(p.err, AX_E_INVALID);
        if (!strstr(p.text, cases[i].says)) {
            fail_msg("%s: \"%s\" does not say %s", cases[i].subject, p.text, cases[i].says);
        }
    }
}

static void task_subjects_come_back_as_built(void **state)
{
    (void)state;
    char subject[SUBJECT_MAX_CHARS];
    struct task_subject s;
    static const char *const stages[] = {"queue", "later", "due", "spill"};
    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
        size_t n = name_subject(subject, stages[i], "high", "email", "abc123");
        assert_int_equal(n, strlen(subject));
        assert_true(name_parse_task_subject(subject, &s));
        assert_string_equal(s.stage, stages[i]);
        assert_string_equal(s.priority, "high");
        assert_string_equal(s.pool, "email");
        assert_string_equal(s.id, "abc123");
    }
    assert_int_equal(name_subject_work(subject, "email", "abc"), 17);
    assert_string_equal(subject, "ax.work.email.abc");
    assert_true(name_parse_task_subject(subject, &s));
    assert_string_equal(s.stage, "work");
    assert_string_equal(s.priority, "");
    assert_string_equal(s.pool, "email");
    size_t dead_len = name_subject_dead(subject, CHARS_32, CHARS_32);
    assert_int_equal(dead_len, strlen(subject));
    assert_true(name_parse_task_subject(subject, &s));
    assert_string_equal(s.stage, "dead");
    assert_string_equal(s.id, CHARS_32);

    name_subject(subject, "queue", CHARS_32, CHARS_32, CHARS_32);
    assert_true(name_parse_task_subject(subject, &s));
}

static void other_subjects_are_no_task(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "ax",
                                      "ax.",
                                      "ax.queue",
                                      "ax.queue.high",
                                      "ax.queue.high.email",
                                      "ax.queue.high.email.",
                                      "ax.queue.high.email.id.x",
                                      "ax.queue.high.email.i-d",
                                      "ax.queue.hi gh.email.id",
                                      "ax.queue..email.id",
                                      "ax.work.email",
                                      "ax.work.high.email.id",
                                      "ax.work.email.id.",
                                      "ax.submit.high.email.id",
                                      "ax.queues.high.email.id",
                                      "bx.queue.high.email.id",
                                      "ax.dead.email." CHARS_32 "6",
                                      "ax.dead." CHARS_32 "6.id"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct task_subject s;
        if (name_parse_task_subject(bad[i], &s)) {
            fail_msg("%s was taken for a task's subject", bad[i]);
        }
    }
}

static void keyed_ids_are_sha256_of_pool_nul_key(void **state)
{
    (void)state;
    /* python3: hashlib.sha256(b"email\0order-1").hexdigest()[:32] and so on */
    static const struct {
        const char *pool, *key, *id;
    } known[] = {
        {"email", "order-1", "3cfbd17ae6342d24f090efaf4f3d5b47"},
        {"default", "order-1", "2a2d1d62a541ca297d6c31d59f9308e0"},
        {"email", "a b.c*>\"':\xc3\xa9", "c7726fcf49b53b9c4d5c5b07e7390a37"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        char id[TASK_ID_CHARS + 1];
        name_task_id(known[i].pool, known[i].key, strlen(known[i].key), id);
        assert_string_equal(id, known[i].id);
        assert_true(name_is_task_id(id));
    }
    char a[TASK_ID_CHARS + 1], b[TASK_ID_CHARS + 1];
    name_task_id("ab", "c", 1, a);
    name_task_id("a", "bc", 2, b);
    assert_string_not_equal(a, b);
}

static void fresh_ids_differ(void **state)
{
    (void)state;
    char a[TASK_ID_CHARS + 1], b[TASK_ID_CHARS + 1];
    name_new_id(a);
    name_new_id(b);
    assert_int_equal(strlen(a), 22);
    assert_true(name_is_task_id(a));
    assert_string_not_equal(a, b);
}

static void every_error_has_a_text(void **state)
{
    (void)state;
    for (int e = 0; e < AX_ERR_COUNT; e++) {
        assert_string_not_equal(ax_err_text((ax_err)e), "unknown error");
    }
    assert_string_equal(ax_err_text(AX_E_FULL), "full");
    assert_string_equal(ax_err_text((ax_err)9999), "unknown error");
}

static void problems_are_one_line_cut_at_a_character(void **state)
{
    (void)state;
    struct problem p;
    assert_int_equal(problem_set(&p, AX_E_FULL, "queue %s is\nfull\t!", "high"), AX_E_FULL);
    assert_int_equal(p.err, AX_E_FULL);
    assert_string_equal(p.text, "queue high is full !");
    assert_int_equal(problem_set(NULL, AX_E_IO, "x"), AX_E_IO);

    char text[600];
    size_t n = 0;
    text[n++] = 'x'; /* two-byte characters then start at odd places: the cut falls inside one */
    while (n < 500) {
        memcpy(text + n, "\xc3\xa9", 2);
        n += 2;
    }
    text[n] = '\0';
    problem_set(&p, AX_E_INVALID, "%s", text);
    assert_true(strlen(p.text) < sizeof(p.text));
    assert_int_equal(strlen(p.text) % 2, 1);

    problem_set(&p, AX_E_INVALID, "%s", text + 1);
    assert_int_equal(strlen(p.text) % 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_take_letters_digits_underscore_dash),
        cmocka_unit_test(task_ids_are_letters_and_digits),
        cmocka_unit_test(submit_subjects),
        cmocka_unit_test(bad_submit_subjects_say_what_is_wrong),
        cmocka_unit_test(task_subjects_come_back_as_built),
        cmocka_unit_test(other_subjects_are_no_task),
        cmocka_unit_test(keyed_ids_are_sha256_of_pool_nul_key),
        cmocka_unit_test(fresh_ids_differ),
        cmocka_unit_test(every_error_has_a_text),
        cmocka_unit_test(problems_are_one_line_cut_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
