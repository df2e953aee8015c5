/* Which queue messages a pool's consumer would deliver. */
#include "ingress/queue/foreign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void served(const char *subject, const char *pool, bool is_task)
{
    char found[NAME_MAX_CHARS + 1];
    bool task;
    assert_true(foreign_pool_of(subject, found, &task));
    assert_string_equal(found, pool);
    assert_int_equal(task, is_task);
}

static void test_served(void **state)
{
    (void)state;
    served("ax.queue.high.email.0123456789abcdef0123456789abcdef", "email", true);
    served("ax.queue.high.email.odd.more", "email", false);
    served("ax.queue.high.email.", "email", false);
}

static void test_not_served(void **state)
{
    static const char *const subjects[] = {"",
                                           "ax",
                                           "ax.queue",
                                           "ax.queue.high",
                                           "ax.queue.high.",
                                           "ax.queue.high.email",
                                           "ax.queue.high..id",
                                           "ax.queue.high.a!b.id",
                                           "ax.queue.high.12345678901234567890123456789012345.id"};
    char pool[NAME_MAX_CHARS + 1];
    bool task;
    (void)state;
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        assert_false(foreign_pool_of(subjects[i], pool, &task));
        assert_false(task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_served),
                                       cmocka_unit_test(test_not_served)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
