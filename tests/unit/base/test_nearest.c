#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/nearest.h"

static const char *meant(const char *word)
{
    static const char *const words[] = {"up",   "submit", "status", "cancel",
                                        "cron", "pool",   "dead",   "time-zone"};
    struct nearest n = {.word = word};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        nearest_offer(&n, words[i]);
    return n.found != NULL ? n.found : "";
}

static void typing_errors_are_found(void **state)
{
    (void)state;
    assert_string_equal(meant("stauts"), "status");
    assert_string_equal(meant("STATUS"), "status");
    assert_string_equal(meant("sumbit"), "submit");
    assert_string_equal(meant("corn"), "cron");
    assert_string_equal(meant("dea"), "dead");
    assert_string_equal(meant("timezone"), "time-zone");
}

static void other_words_are_not_guessed(void **state)
{
    (void)state;
    char longer[100];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_string_equal(meant("nope"), "");
    assert_string_equal(meant("xy"), "");
    assert_string_equal(meant(""), "");
    assert_string_equal(meant(longer), "");
}

static void words_of_a_list_are_offered(void **state)
{
    (void)state;
    char found[16], text[64];
    struct nearest n = {.word = "wran"};
    nearest_offer_words(&n, "error|warn|info|debug", found, sizeof(found));
    assert_string_equal(nearest_text(&n, "--", text, sizeof(text)), "; did you mean --warn?");
    n = (struct nearest){.word = "zzzz"};
    nearest_offer_words(&n, "error|warn", found, sizeof(found));
    assert_string_equal(nearest_text(&n, "", text, sizeof(text)), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typing_errors_are_found),
        cmocka_unit_test(other_words_are_not_guessed),
        cmocka_unit_test(words_of_a_list_are_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
