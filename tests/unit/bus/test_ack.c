#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bus/ack.h"
#include "bus/pull.h"
#include "task/task.h"

static void both_forms_of_subject(void **state)
{
    (void)state;
    static const char *const subjects[] = {
        "$JS.ACK.AX_WORK.email.2.42.17.1896080400000000001.5",
        "$JS.ACK._.ACCHASH.AX_WORK.email.2.42.17.1896080400000000001.5",
        "$JS.ACK.hub.ACCHASH.AX_WORK.email.2.42.17.1896080400000000001.5.rnd",
        "$JS.ACK.hub.ACCHASH.AX_WORK.email.2.42.17.1896080400000000001.5.rnd.more.to.come",
    };
    for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
        struct ack_subject a;
        if (!ack_parse_subject(subjects[i], &a)) {
            fail_msg("%s not understood", subjects[i]);
        }
        assert_string_equal(a.stream, "AX_WORK");
        assert_string_equal(a.consumer, "email");
        assert_int_equal(a.delivered, 2);
        assert_int_equal(a.stream_seq, 42);
        assert_int_equal(a.consumer_seq, 17);
        assert_int_equal(a.timestamp_ns, 1896080400000000001);
        assert_int_equal(a.pending, 5);
    }
}

static void other_subjects_are_no_acks(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        ".",
        "........",
        "$JS.ACK",
        "$JS.ACK.AX_WORK.email.2.42.17.1",
        "$JS.ACK.x.AX_WORK.email.2.42.17.1.5",
        "$JS.NAK.AX_WORK.email.2.42.17.1.5",
        "$JS.ACK.AX_WORK.email.AX_WORK.invoice.2.42.17.1.5",
        "$JS.ACK.AX_WORK.email.AX_WORK.invoice.2.42.17.1.5.more",
        "$JS.ACK.AX_HIGH.x.AX_WORK.invoice.2.42.17.1.5",
        "$KV.ACK.AX_WORK.email.2.42.17.1.5",
        "$JS.ACK..email.2.42.17.1.5",
        "$JS.ACK.AX_WORK..2.42.17.1.5",
        "$JS.ACK.AX_WORK.email..42.17.1.5",
        "$JS.ACK.AX_WORK.email.x.42.17.1.5",
        "$JS.ACK.AX_WORK.email.-2.42.17.1.5",
        "$JS.ACK.AX_WORK.email.2.18446744073709551616.17.1.5",
        "$JS.ACK.AX_WORK.email.2.42.17.9223372036854775808.5",
        "$JS.ACK.AX_WORK.email.2.42.17.1.5x",
        "$JS.ACK.AX_WORK.email.2.42.17.1.",
        "$JS.ACK.AX_WORK.a23456789012345678901234567890123456789012345678901234567890123x.2.42.17."
        "1.5",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ack_subject a;
        if (ack_parse_subject(bad[i], &a)) {
            fail_msg("%s was taken for an ack subject", bad[i]);
        }
    }
    struct ack_subject a;
    assert_true(ack_parse_subject(
        "$JS.ACK.AX_WORK.a23456789012345678901234567890123456789012345678901234567890123.1."
        "18446744073709551615.1.0.0",
        &a));
    assert_true(a.stream_seq == UINT64_MAX);
}

static struct ack_payload parse_n(const char *data, size_t bytes)
{
    struct ack_payload a;
    ack_parse_payload(data, bytes, &a);
    return a;
}

static struct ack_payload parse(const char *data)
{
    return parse_n(data, strlen(data));
}

static void kinds_of_payload(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        enum ack_kind kind;
    } cases[] = {{"", ACK_ACK},         {"+ACK", ACK_ACK},      {"+OK", ACK_ACK},
                 {"-NAK", ACK_NAK},     {"+TERM", ACK_TERM},    {"+WPI", ACK_PROGRESS},
                 {"+NXT", ACK_NEXT},    {"+ACK ", ACK_UNKNOWN}, {"+AC", ACK_UNKNOWN},
                 {"+ack", ACK_UNKNOWN}, {"+WPI!", ACK_UNKNOWN}, {"hello", ACK_UNKNOWN},
                 {"+OKAY", ACK_UNKNOWN}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ack_payload a = parse(cases[i].data);
        if (a.kind != cases[i].kind) {
            fail_msg("\"%s\" is %d", cases[i].data, a.kind);
        }
        assert_int_equal(a.delay_ms, -1);
        assert_string_equal(a.reason, "");
    }
    assert_int_equal(parse_n(NULL, 0).kind, ACK_ACK);
    assert_int_equal(parse_n("+ACK\0", 5).kind, ACK_UNKNOWN);
}

static void nak_with_delay(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        int64_t ms;
    } cases[] = {
        {"-NAK {\"delay\":5000000000}", 5000},
        {"-NAK{\"delay\":1}", 1},
        {"-NAK {\"delay\":1000001}", 2},
        {"-NAK {\"Delay\":2000000, \"x\":1}", 2},
        {"-NAK {\"delay\":0}", 0},
        {"-NAK {\"delay\":-5}", 0},
        {"-NAK {\"delay\":9223372036854775807}", TASK_DELAY_MAX_MS}, /* no longer one is kept */
        {"-NAK {\"delay\":-9223372036854775808}", 0},
        {"-NAK 2500000h", TASK_DELAY_MAX_MS},
        {"-NAK {\"delay\":99999999999999999999}", -1},
        {"-NAK {\"delay\":\"5s\"}", -1},
        {"-NAK {\"delay\":1.5}", -1},
        {"-NAK {}", -1},
        {"-NAK {\"delay\":null}", 0},
        {"-NAK {\"delay\":5", -1},
        {"-NAK   ", -1},
        {"-NAK 10s", 10000},
        {"-NAK 1.5h", 5400000},
        {"-NAK 1h10m", 4200000},
        {"-NAK 300ms", 300},
        {"-NAK 10us", 1},
        {"-NAK 10\xc2\xb5s", 1},
        {"-NAK .5s", 500},
        {"-NAK 0", 0},
        {"-NAK -3s", 0},
        {"-NAK 10", -1},
        {"-NAK 10 s", -1},
        {"-NAK 10d", -1},
        {"-NAK .s", -1},
        {"-NAK 1.2.3s", -1},
        {"-NAK s", -1},
        {"-NAK -", -1},
        {"-NAK nonsense", -1},
        {"-NAK 99999999999999999h", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ack_payload a = parse(cases[i].data);
        assert_int_equal(a.kind, ACK_NAK);
        if (a.delay_ms != cases[i].ms) {
            fail_msg("\"%s\": %lld ms", cases[i].data, (long long)a.delay_ms);
        }
    }
}

static void nak_that_gives_back(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        int64_t ms;
        bool given_back;
    } cases[] = {{ACK_TEXT_GIVEN_BACK, 1, true},
                 {"-NAK {\"given_back\":true}", 0, true},
                 {"-NAK {\"given_back\":true,\"delay\":5000000000}", 5000, true},
                 {"-NAK {\"given_back\":false}", -1, false},
                 {"-NAK {\"given_back\":1}", -1, false},
                 {"-NAK {\"given_back\":\"true\"}", -1, false},
                 {"-NAK {\"given_back\":true", -1, false},
                 {"-NAK given_back", -1, false},
                 {"-NAK", -1, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ack_payload a = parse(cases[i].data);
        assert_int_equal(a.kind, ACK_NAK);
        if (a.delay_ms != cases[i].ms || a.given_back != cases[i].given_back) {
            fail_msg("\"%s\": %lld ms, %d", cases[i].data, (long long)a.delay_ms, a.given_back);
        }
    }
}

static void term_with_reason(void **state)
{
    (void)state;
    assert_string_equal(parse("+TERM no such customer").reason, "no such customer");
    assert_string_equal(parse("+TERM  two\nlines\t ").reason, "two lines");
    assert_string_equal(parse("+TERM caf\xc3\xa9").reason, "caf\xc3\xa9");
    assert_string_equal(parse("+TERM \xff\xc3 x \xed\xa0\x80").reason, "?? x ???");
    assert_string_equal(parse_n("+TERM a\0b", 9).reason, "a b");
    assert_string_equal(parse("+TERM   ").reason, "");

    char longest[600] = "+TERM ";
    for (size_t i = 6; i < 500; i += 2) {
        memcpy(longest + i, "\xc3\xa9", 2);
    }
    struct ack_payload a = parse(longest);
    assert_int_equal(strlen(a.reason), 254); /* whole characters only */
}

static void next_carries_a_pull_request(void **state)
{
    (void)state;
    struct ack_payload a = parse("+NXT {\"batch\":5}");
    assert_int_equal(a.kind, ACK_NEXT);
    struct pull_request r;
    assert_true(pull_parse(a.next, a.next_bytes, &r));
    assert_int_equal(r.batch, 5);
    a = parse("+NXT");
    assert_int_equal(a.next_bytes, 0);
    assert_non_null(a.next);
}

static void pull_requests(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        int64_t batch, expires_ns;
        bool no_wait;
    } cases[] = {
        {"", 1, 0, false},
        {"  \n", 1, 0, false},
        {"5", 5, 0, false},
        {" 12 \n", 12, 0, false},
        {"0", 1, 0, false},
        {"-4", 1, 0, false},
        {"99999999999999999999", 1, 0, false},
        {"five", 1, 0, false},
        {"5x", 1, 0, false},
        {"{}", 1, 0, false},
        {"{\"batch\":500,\"expires\":30000000000}", 500, 30000000000, false},
        {"{\"batch\":9223372036854775807,\"expires\":9223372036854775807}", PULL_BATCH_MAX,
         PULL_EXPIRES_MAX_NS, false},
        {"{\"batch\":-9223372036854775808,\"max_bytes\":9223372036854775807}", 1, 0, false},
        {"9223372036854775807", PULL_BATCH_MAX, 0, false},
        {"{\"batch\":1,\"no_wait\":true}", 1, 0, true},
        {"{\"BATCH\":7,\"No_Wait\":true}", 7, 0, true},
        {"{\"batch\":-1,\"no_wait\":false}", 1, 0, false},
        {"{\"batch\":null,\"no_wait\":null,\"expires\":null}", 1, 0, false},
        {"{\"batch\":2,\"expires\":10,\"idle_heartbeat\":5,\"max_bytes\":100,\"id\":\"a\\u0000\"}",
         2, 10, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pull_request r;
        if (!pull_parse(cases[i].data, strlen(cases[i].data), &r)) {
            fail_msg("\"%s\" refused", cases[i].data);
        }
        assert_int_equal(r.batch, cases[i].batch);
        assert_int_equal(r.expires_ns, cases[i].expires_ns);
        assert_int_equal(r.no_wait, cases[i].no_wait);
    }
    struct pull_request r;
    assert_true(pull_parse(NULL, 0, &r));
}

static void pull_requests_that_the_server_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {"{",
                                      "{\"batch\":5",
                                      "{\"batch\":\"5\"}",
                                      "{\"batch\":1.5}",
                                      "{\"expires\":\"30s\"}",
                                      "{\"no_wait\":1}",
                                      "{\"batch\":5} x",
                                      "{\"expires\":10,\"idle_heartbeat\":6}",
                                      "{\"idle_heartbeat\":6}",
                                      "{\"expires\":-1}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct pull_request r;
        if (pull_parse(bad[i], strlen(bad[i]), &r)) {
            fail_msg("%s was taken", bad[i]);
        }
    }
}

static void pull_subjects(void **state)
{
    (void)state;
    char pool[33];
    assert_true(pull_parse_subject("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", pool));
    assert_string_equal(pool, "email");
    assert_true(pull_parse_subject(
        "$JS.hub.API.CONSUMER.MSG.NEXT.AX_WORK.abcdefghijklmnopqrstuvwxyz012345", pool));
    assert_string_equal(pool, "abcdefghijklmnopqrstuvwxyz012345");
    static const char *const bad[] = {
        "",
        "$JS.",
        "$JS.API",
        "$JS.API.CONSUMER.MSG.NEXT.AX_WORK",
        "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.",
        "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.a.b",
        "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.a b",
        "$JS.API.CONSUMER.MSG.NEXT.AX_HIGH.email",
        "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.abcdefghijklmnopqrstuvwxyz0123456",
        "$JS..API.CONSUMER.MSG.NEXT.AX_WORK.email",
        "$JS.a.b.API.CONSUMER.MSG.NEXT.AX_WORK.email",
        "$KV.API.CONSUMER.MSG.NEXT.AX_WORK.email"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (pull_parse_subject(bad[i], pool)) {
            fail_msg("%s was taken", bad[i]);
        }
    }
}

static void an_ack_subject_of_one_consumer(void **state)
{
    (void)state;
    struct ack_subject a;
    static const char *const others[] = {
        "$JS.ACK.AX_LOW.email.1.2.3.4.5",
        "$JS.ACK.AX_HIGH.sms.1.2.3.4.5",
        "$JS.ACK._.acc.AX_HIGH.sms.1.2.3.4.5",
        "$JS.ACK._.acc.AX_HIGH.email.1.2.3.4.5.*",
        "$JS.ACK._.acc.AX_HIGH.email.1.2.3.4.5.a b",
        "$JS.ACK.*.acc.AX_HIGH.email.1.2.3.4.5",
        "$JS.ACK.._.AX_HIGH.email.1.2.3.4.5",
        "$KV.AX_DONE.x",
        "_INBOX.x",
    };
    assert_true(ack_parse_subject_of("$JS.ACK.AX_HIGH.email.1.2.3.4.5", "AX_HIGH", "email", &a));
    assert_int_equal(a.stream_seq, 2);
    assert_true(
        ack_parse_subject_of("$JS.ACK._.acc.AX_HIGH.email.1.7.3.4.5.t", "AX_HIGH", "email", &a));
    assert_int_equal(a.stream_seq, 7);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(ack_parse_subject_of(others[i], "AX_HIGH", "email", &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ack_subject_of_one_consumer),
        cmocka_unit_test(both_forms_of_subject),
        cmocka_unit_test(other_subjects_are_no_acks),
        cmocka_unit_test(kinds_of_payload),
        cmocka_unit_test(nak_with_delay),
        cmocka_unit_test(nak_that_gives_back),
        cmocka_unit_test(term_with_reason),
        cmocka_unit_test(next_carries_a_pull_request),
        cmocka_unit_test(pull_requests),
        cmocka_unit_test(pull_requests_that_the_server_refuses),
        cmocka_unit_test(pull_subjects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
