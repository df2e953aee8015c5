#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/random.h"

static void numbers_differ(void **state)
{
    (void)state;
    uint64_t seen = 0, all = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t number = random_u64();
        seen |= number;
        all &= number;
    }
    assert_true(seen == UINT64_MAX && all == 0); /* every bit was set once, and once not */
}

static void names_have_their_length_and_characters(void **state)
{
    (void)state;
    static const char allowed[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    int used[sizeof(allowed)] = {0};
    char name[23], before[23] = "";
    for (int i = 0; i < 1000; i++) {
        memset(name, '?', sizeof(name));
        random_name(name, 22);
        assert_int_equal(strlen(name), 22);
        assert_int_equal(strspn(name, allowed), 22);
        assert_string_not_equal(name, before);
        strcpy(before, name);
        for (int k = 0; k < 22; k++)
            used[strchr(allowed, name[k]) - allowed]++;
    }
    /* 22,000 of 62 characters: 355 of each, and 10 standard deviations to either side */
    for (size_t k = 0; k < sizeof(allowed) - 1; k++)
        assert_in_range(used[k], 355 - 188, 355 + 188);
    random_name(name, 0);
    assert_string_equal(name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_differ),
        cmocka_unit_test(names_have_their_length_and_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
