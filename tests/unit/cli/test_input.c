/* Lines of stdin, as `ax submit --lines` reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/submit/input.h"

static int writer; /* of the pipe that is stdin */

static int setup(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_true(dup2(fds[0], STDIN_FILENO) >= 0);
    close(fds[0]);
    writer = fds[1];
    return 0;
}

static void put(const char *text)
{
    assert_int_equal(write(writer, text, strlen(text)), strlen(text));
}

static void expect_line(struct input *in, const char *line)
{
    char *text;
    size_t bytes;
    assert_int_equal(input_next(in, 1000, &text, &bytes), INPUT_LINE);
    assert_string_equal(text, line);
    assert_int_equal(bytes, strlen(line));
}

static void lines_come_one_by_one(void **state)
{
    (void)state;
    struct input in = {0};
    char *text;
    size_t bytes;
    put("one\n\nthree\nfo");
    expect_line(&in, "one");
    expect_line(&in, "");
    expect_line(&in, "three");
    assert_int_equal(input_next(&in, 0, &text, &bytes), INPUT_NONE_YET);
    put("ur\nunended");
    expect_line(&in, "four");
    assert_int_equal(input_next(&in, 0, &text, &bytes), INPUT_NONE_YET);
    close(writer);
    assert_int_equal(input_next(&in, 1000, &text, &bytes), INPUT_NONE_YET);
    expect_line(&in, "unended");
    assert_int_equal(input_next(&in, 0, &text, &bytes), INPUT_END);
    input_free(&in);
}

static void long_lines_are_whole(void **state)
{
    (void)state;
    struct input in = {0};
    char line[20001];
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    for (int i = 0; i < 3; i++) {
        put(line);
        put("\n");
    }
    close(writer);
    for (int i = 0; i < 3; i++)
        expect_line(&in, line);
    input_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lines_come_one_by_one, setup),
        cmocka_unit_test_setup(long_lines_are_whole, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
