/* The environment of a child: variables are replaced, added and left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"
#include "cli/environment.h"

/* How many entries of block set the variable; *value: of the last one. */
static int count(char **block, const char *name, const char **value)
{
    int n = 0;
    size_t chars = strlen(name);
    for (; *block != NULL; block++) {
        if (strncmp(*block, name, chars) != 0 || (*block)[chars] != '=')
            continue;
        *value = *block + chars + 1;
        n++;
    }
    return n;
}

static int setup(void **state)
{
    (void)state;
    setenv("ENV_KEPT", "kept", 1);
    setenv("ENV_REPLACED", "old", 1);
    setenv("ENV_GONE", "x", 1);
    unsetenv("ENV_ADDED");
    return 0;
}

static void variables_are_replaced_added_and_left_out(void **state)
{
    (void)state;
    const struct environment_variable variables[] = {
        {"ENV_REPLACED", "new"}, {"ENV_ADDED", "a=b"}, {"ENV_GONE", NULL}};
    const char *value = NULL;
    char **block = environment_with(variables, 3);
    assert_non_null(block);
    assert_int_equal(count(block, "ENV_KEPT", &value), 1);
    assert_string_equal(value, "kept");
    assert_int_equal(count(block, "ENV_REPLACED", &value), 1);
    assert_string_equal(value, "new");
    assert_int_equal(count(block, "ENV_ADDED", &value), 1);
    assert_string_equal(value, "a=b");
    assert_int_equal(count(block, "ENV_GONE", &value), 0);
    free(block);
}

/* A name that begins another's takes nothing from it. */
static void names_are_compared_whole(void **state)
{
    (void)state;
    const struct environment_variable variables[] = {{"ENV_KEP", NULL}, {"ENV_KEPT_LONGER", NULL}};
    const char *value = NULL;
    char **block = environment_with(variables, 2);
    assert_non_null(block);
    assert_int_equal(count(block, "ENV_KEPT", &value), 1);
    free(block);
}

static void without_variables_it_is_a_copy(void **state)
{
    (void)state;
    const char *value = NULL;
    char **block = environment_with(NULL, 0);
    assert_non_null(block);
    assert_int_equal(count(block, "ENV_GONE", &value), 1);
    free(block);
}

/* A new option's variable is private without a line here or there. */
static void a_command_gets_nothing_of_the_connection(void **state)
{
    (void)state;
    static const char *const private[] = {"NATS_TOKEN", "NATS_NKEY", "NATS_CONTEXT",
                                          "CREDENTIALS_DIRECTORY",
#define X(field, flag, letter, variable, ...) variable,
                                          OPTIONS_TABLE(X)
#undef X
    };
    const struct environment_variable variables[] = {{"AX_KEY", "k"}, {"ENV_GONE", NULL}};
    size_t privates = sizeof(private) / sizeof(private[0]);
    const char *value = NULL;
    for (size_t i = 0; i < privates; i++)
        setenv(private[i], "secret", 1);
    setenv("NATSY", "kept", 1);
    setenv("CREDENTIALS_DIRECTORY_OF", "kept", 1);
    setenv("AX_OTHER", "kept", 1);
    char **block = environment_of_command(variables, 2);
    assert_non_null(block);
    for (size_t i = 0; i < privates; i++)
        assert_int_equal(count(block, private[i], &value), 0);
    for (size_t i = 0; block[i] != NULL; i++)
        assert_null(strstr(block[i], "secret"));
    assert_int_equal(count(block, "NATSY", &value), 1);
    assert_int_equal(count(block, "CREDENTIALS_DIRECTORY_OF", &value), 1);
    assert_int_equal(count(block, "AX_OTHER", &value), 1);
    assert_int_equal(count(block, "ENV_KEPT", &value), 1);
    assert_int_equal(count(block, "ENV_GONE", &value), 0);
    assert_int_equal(count(block, "AX_KEY", &value), 1);
    assert_string_equal(value, "k");
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(variables_are_replaced_added_and_left_out, setup),
        cmocka_unit_test_setup(names_are_compared_whole, setup),
        cmocka_unit_test_setup(without_variables_it_is_a_copy, setup),
        cmocka_unit_test_setup(a_command_gets_nothing_of_the_connection, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
