#include <fcntl.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

static int pipe_fds[2];
static int real_stderr;

static void catch_stderr(void)
{
    assert_int_equal(pipe2(pipe_fds, O_NONBLOCK), 0);
    real_stderr = dup(STDERR_FILENO);
    dup2(pipe_fds[1], STDERR_FILENO);
}

/* What was written since catch_stderr. One write each, so one read gives all. */
static const char *caught(void)
{
    static char text[8192];
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    close(pipe_fds[1]);
    ssize_t n = read(pipe_fds[0], text, sizeof(text) - 1);
    close(pipe_fds[0]);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void matches(const char *text, const char *pattern)
{
    regex_t re;
    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int result = regexec(&re, text, 0, NULL, 0);
    regfree(&re);
    if (result != 0) {
        fail_msg("\"%s\" does not match %s", text, pattern);
    }
}

static void lines_are_logfmt(void **state)
{
    (void)state;
    log_init("ax-test", LOG_INFO);
    catch_stderr();
    log_line(LOG_WARN, "stream recreated", "stream=%s seq=%d", "AX_WORK", 5);
    log_info("started", NULL);
    matches(caught(),
            "^ts=20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z level=warn "
            "program=ax-test msg=\"stream recreated\" stream=AX_WORK seq=5\nts=.* level=info "
            "program=ax-test msg=started\n$");
}

static void level_decides(void **state)
{
    (void)state;
    log_init("ax-test", LOG_WARN);
    catch_stderr();
    log_info("not this", NULL);
    log_debug("nor this", NULL);
    log_error("this", NULL);
    matches(caught(), "^ts=[^ ]+ level=error program=ax-test msg=this\n$");
    log_init("ax-test", LOG_DEBUG);
    catch_stderr();
    log_debug("now", "a=%d", 1);
    matches(caught(), "level=debug .*msg=now a=1\n$");

    assert_int_equal(log_level_parse("error"), LOG_ERROR);
    assert_int_equal(log_level_parse("warn"), LOG_WARN);
    assert_int_equal(log_level_parse("info"), LOG_INFO);
    assert_int_equal(log_level_parse("debug"), LOG_DEBUG);
    assert_int_equal(log_level_parse("loud"), -1);
    assert_int_equal(log_level_parse(""), -1);
}

static void a_line_stays_one_line(void **state)
{
    (void)state;
    char longest[5000];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    log_init("ax-test", LOG_INFO);
    catch_stderr();
    log_info("m", "a=%s", "1\nts=forged");
    log_info("m", "a=%s", longest);
    const char *text = caught();
    const char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_non_null(strstr(text, "a=1 ts=forged\n"));
    end = strchr(end + 1, '\n');
    assert_non_null(end);
    assert_int_equal(end[1], '\0');
    assert_true(end - text < 4096);
}

static void a_limited_kind_has_one_line_a_minute(void **state)
{
    (void)state;
    struct log_gate gate = {0}, other = {0};
    const long long second = 1000000000LL;
    char longest[5000];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    log_init("ax-test", LOG_INFO);
    catch_stderr();
    for (int i = 0; i < 500; i++)
        log_limited(&gate, 5 * second + i, LOG_WARN, "odd", "n=%d", i);
    log_limited(&gate, 64 * second, LOG_WARN, "odd", "n=%d", 500);
    log_limited(&gate, 64 * second, LOG_DEBUG, "not counted", NULL);
    log_limited(&other, 64 * second, LOG_WARN, "another", NULL);
    log_limited(&gate, 65 * second, LOG_WARN, "odd", "n=%d", 501);
    log_limited(&gate, 66 * second, LOG_WARN, "odd", "n=%d", 502);
    log_limited(&gate, 126 * second, LOG_WARN, "odd", "a=%s", longest);
    const char *text = caught();
    matches(text, "^ts=[^\n]* msg=odd n=0\nts=[^\n]* msg=another\n"
                  "ts=[^\n]* msg=odd n=501 suppressed=500\n"
                  "ts=[^\n]* msg=odd a=x+ suppressed=1\n$");
    assert_true(strlen(text) < 4096);
}

/* Also where a value was not quoted. */
static void a_line_steers_no_terminal(void **state)
{
    (void)state;
    log_init("ax-test", LOG_INFO);
    catch_stderr();
    log_info("m", "a=%s b=%.4s", "\x1b[2J\xc2\x9b\xe2\x80\xae\x9b", "ab\xe2\x82\xac");
    matches(caught(), " a=\\\\x1b\\[2J\\\\u009b\\\\u202e\\\\x9b b=ab\\\\xe2\\\\x82\n$");
}

static void quoting(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {{"plain", "plain"},
                 {"a.b:c/d", "a.b:c/d"},
                 {"caf\xc3\xa9", "caf\xc3\xa9"},
                 {"", "\"\""},
                 {"two words", "\"two words\""},
                 {"a=b", "\"a=b\""},
                 {"say \"x\"", "\"say \\\"x\\\"\""},
                 {"back\\slash", "\"back\\\\slash\""},
                 {"a\nb", "\"a\\nb\""},
                 {"a\x01", "\"a\\x01\""},
                 {"\xc2\x9b", "\"\\u009b\""},
                 {"a\xe2\x80\xae", "\"a\\u202e\""},
                 {"\x9b\xff", "\"\\x9b\\xff\""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char buf[64];
        assert_string_equal(log_quote(cases[i].in, buf, sizeof(buf)), cases[i].out);
    }
    for (unsigned long cap = 0; cap < 24; cap++) {
        char buf[24];
        memset(buf, '#', sizeof(buf));
        log_quote("\x01\x02\x03\x04\x05\x06\x07\x08 \"\"\"", buf, cap);
        for (unsigned long i = cap; i < sizeof(buf); i++) {
            assert_int_equal(buf[i], '#');
        }
        assert_true(cap == 0 || strnlen(buf, cap) < cap);
    }
}

static void gate_lets_one_through_per_interval(void **state)
{
    (void)state;
    struct log_gate g = {0};
    unsigned long suppressed = 99;
    assert_int_equal(log_gate_open(&g, 0, 1000, &suppressed), 1);
    assert_int_equal(suppressed, 0);
    assert_int_equal(log_gate_open(&g, 500, 1000, &suppressed), 0);
    assert_int_equal(log_gate_open(&g, 900, 1000, &suppressed), 0);
    assert_int_equal(log_gate_open(&g, 1001, 1000, &suppressed), 1);
    assert_int_equal(suppressed, 2);
    assert_int_equal(log_gate_open(&g, 2001, 1000, &suppressed), 1);
    assert_int_equal(suppressed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_logfmt),
        cmocka_unit_test(level_decides),
        cmocka_unit_test(a_line_stays_one_line),
        cmocka_unit_test(a_limited_kind_has_one_line_a_minute),
        cmocka_unit_test(a_line_steers_no_terminal),
        cmocka_unit_test(quoting),
        cmocka_unit_test(gate_lets_one_through_per_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
