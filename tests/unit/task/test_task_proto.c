#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ax/v1/task.pb-c.h"
#include "task/task.h"
#include "task/task_proto.h"

#define SUBJECT "ax.submit.high.email"
typedef Ax__V1__Task Task;
typedef Ax__V1__Task__HeadersEntry Entry;

struct packed {
    uint8_t *data;
    size_t bytes;
};

static struct packed pack(const Task *m)
{
    struct packed packed = {.bytes = ax__v1__task__get_packed_size(m)};
    packed.data = malloc(packed.bytes + 1);
    assert_non_null(packed.data);
    ax__v1__task__pack(m, packed.data);
    return packed;
}

static void refused_bytes(const void *data, size_t bytes, const char *says, const char *says_too)
{
    struct task t;
    struct problem p = {0};
    void *unpacked = &p;
    ax_err err = task_proto_read(&t, SUBJECT, data, bytes, &unpacked, &p);
    if (err != AX_E_INVALID || !strstr(p.text, says) || !strstr(p.text, says_too)) {
        fail_msg("err %d, \"%s\"; expected \"%s\" and \"%s\"", err, p.text, says, says_too);
    }
    assert_null(unpacked);
}

static void refused(const Task *m, const char *says, const char *says_too)
{
    struct packed packed = pack(m);
    refused_bytes(packed.data, packed.bytes, says, says_too);
    free(packed.data);
}

/* Unpacks m, and leaves the task for the caller to look at; finish with done(). */
static void *accepted(const Task *m, struct task *t, struct packed *packed)
{
    *packed = pack(m);
    void *unpacked = NULL;
    struct problem p = {0};
    if (task_proto_read(t, SUBJECT, packed->data, packed->bytes, &unpacked, &p) != AX_OK) {
        fail_msg("refused: %s", p.text);
    }
    return unpacked;
}

static void done(struct task *t, void *unpacked, struct packed *packed)
{
    task_clear(t);
    task_proto_free(unpacked);
    free(packed->data);
}

static void nothing_set_takes_subject_and_defaults(void **state)
{
    (void)state;
    struct task t;
    void *unpacked = NULL;
    assert_int_equal(task_proto_read(&t, "ax.submit.low", NULL, 0, &unpacked, NULL), AX_OK);
    assert_string_equal(t.priority, "low");
    assert_string_equal(t.pool, "default");
    assert_null(t.key);
    assert_int_equal(strlen(t.id), 22);
    assert_int_equal(t.attempt, 1);
    assert_int_equal(t.max_retry, -1);
    assert_int_equal(t.delay_ms, -1);
    assert_int_equal(t.body_bytes, 0);
    task_clear(&t);
    task_proto_free(unpacked);
    task_proto_free(NULL);
}

static void all_fields(void **state)
{
    (void)state;
    Entry one = AX__V1__TASK__HEADERS_ENTRY__INIT, two = one, dropped = one;
    one.key = "traceparent";
    one.value = "00-ab";
    two.key = "Content-Type";
    two.value = "text/plain";
    dropped.key = "nats-TTL";
    dropped.value = "1s";
    Entry *entries[] = {&one, &dropped, &two};
    Task m = AX__V1__TASK__INIT;
    m.body = (ProtobufCBinaryData){3, (uint8_t *)"a\0b"};
    m.key = "caf\xc3\xa9 *.>";
    m.priority = "high"; /* as in the subject */
    m.pool = "email";
    m.max_retry_if_set_case = AX__V1__TASK__MAX_RETRY_IF_SET_MAX_RETRY;
    m.max_retry = 0;
    m.backoff = "2s";
    m.delay = "1m30s";
    m.expires = "2030-01-31T09:00:00Z";
    m.n_headers = 3;
    m.headers = entries;
    struct task t;
    struct packed packed;
    void *unpacked = accepted(&m, &t, &packed);
    assert_string_equal(t.priority, "high");
    assert_string_equal(t.pool, "email");
    assert_string_equal(t.key, m.key);
    char id[TASK_ID_CHARS + 1];
    name_task_id("email", m.key, strlen(m.key), id);
    assert_string_equal(t.id, id);
    assert_int_equal(t.max_retry, 0);
    assert_int_equal(t.backoff_ms, 2000);
    assert_int_equal(t.delay_ms, 90000);
    assert_int_equal(t.expires_ns, 1896080400LL * 1000000000);
    assert_int_equal(t.body_bytes, 3);
    assert_memory_equal(t.body, "a\0b", 3);
    assert_int_equal(t.header_count, 2);
    assert_string_equal(t.headers[0].name, "traceparent");
    assert_string_equal(t.headers[1].value, "text/plain");
    done(&t, unpacked, &packed);
}

static void time_fields(void **state)
{
    (void)state;
    struct task t;
    struct packed packed;
    Task m = AX__V1__TASK__INIT;
    m.at = "2030-01-31T10:00:00+01:00";
    m.expires = "10m";
    void *unpacked = accepted(&m, &t, &packed);
    assert_int_equal(t.at_ns, 1896080400LL * 1000000000);
    assert_int_equal(t.expires_in_ms, 600000);
    done(&t, unpacked, &packed);

    m = (Task)AX__V1__TASK__INIT;
    m.cron = "0 * * * * *";
    m.time_zone = "UTC";
    m.overlap = "queue";
    m.timeout = "5m";
    m.group = "acme";
    m.key = "k";
    unpacked = accepted(&m, &t, &packed);
    assert_string_equal(t.cron, "0 * * * * *");
    assert_string_equal(t.time_zone, "UTC");
    assert_int_equal(t.overlap, TASK_OVERLAP_QUEUE);
    assert_int_equal(t.timeout_ms, 300000);
    assert_string_equal(t.group, "acme");
    done(&t, unpacked, &packed);
}

static void bad_fields_are_named(void **state)
{
    (void)state;
    char key[KEY_MAX_BYTES + 2];
    memset(key, 'k', sizeof(key));
    key[KEY_MAX_BYTES + 1] = '\0';
    char *const forbidden[] = {"a\nb", "a\rb", " a", "a "};
    Task m;
#define REFUSED(says, too, ...)       \
    do {                              \
        m = (Task)AX__V1__TASK__INIT; \
        __VA_ARGS__;                  \
        refused(&m, says, too);       \
    } while (0)
    REFUSED("key", "513 bytes", m.key = key);
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++) {
        REFUSED("key", "CR, LF", m.key = forbidden[i]);
    }
    REFUSED("priority", "\"a.b\"", m.priority = "a.b");
    REFUSED("pool", "\"caf??\"", m.pool = "caf\xc3\xa9");
    REFUSED("max_retry", "\"1001\"",
            m.max_retry_if_set_case = AX__V1__TASK__MAX_RETRY_IF_SET_MAX_RETRY;
            m.max_retry = 1001);
    REFUSED("max_retry", "\"4294967295\"",
            m.max_retry_if_set_case = AX__V1__TASK__MAX_RETRY_IF_SET_MAX_RETRY;
            m.max_retry = UINT32_MAX);
    REFUSED("backoff", "\"0s\"", m.backoff = "0s");
    REFUSED("delay", "\"-1s\"", m.delay = "-1s");
    REFUSED("delay", "\"0s\"", m.delay = "0s");
    REFUSED("delay", "\"366d\"", m.delay = "366d");
    REFUSED("at", "\"2030-01-31T09:00:00\"", m.at = "2030-01-31T09:00:00");
    REFUSED("expires", "\"soon\"", m.expires = "soon");
    REFUSED("cron", "printable", m.cron = "* \n *"; m.key = "k");
    REFUSED("cron is given without key", "needs a key", m.cron = "* * *");
    REFUSED("timeout", "\"999ms\"", m.timeout = "999ms");
    REFUSED("group", "1 to 64",
            m.group = "12345678901234567890123456789012345678901234567890123456789012345");
    REFUSED("ordered is given without group", "", m.ordered = 1);
    REFUSED("ordered and delay", "order of acceptance", m.ordered = 1; m.group = "a";
            m.delay = "1s");
    REFUSED("overlap", "skip or queue", m.overlap = "both");
    REFUSED("overlap", "without cron", m.overlap = "skip");
    REFUSED("time_zone", "without cron", m.time_zone = "UTC");
    REFUSED("time_zone", "IANA", m.time_zone = "a b"; m.cron = "* * *"; m.key = "k");
    REFUSED("delay and at", "only one", m.delay = "1s"; m.at = "2030-01-31T09:00:00Z");
    REFUSED("cron and delay", "only one", m.delay = "1s"; m.cron = "* * *"; m.key = "k");
#undef REFUSED
}

static void refused_header(char *name, char *value, const char *says)
{
    Entry entry = AX__V1__TASK__HEADERS_ENTRY__INIT;
    Entry *entries[] = {&entry};
    Task m = AX__V1__TASK__INIT;
    entry.key = name;
    entry.value = value;
    m.n_headers = 1;
    m.headers = entries;
    refused(&m, "headers entry", says);
}

static void bad_headers_are_named(void **state)
{
    (void)state;
    refused_header("Ax-Key", "k", "\"Ax-Key\"");
    refused_header("aX-foo", "k", "\"aX-foo\"");
    refused_header("Nats-Msg-Id", "k", "the field key says it");
    refused_header("nats-msg-id", "k", "the field key says it");
    refused_header("", "k", "the name \"\"");
    refused_header("a b", "k", "\"a b\"");
    refused_header("a:b", "k", "\"a:b\"");
    refused_header("a\r\nNats-TTL", "k", "printable ASCII");
    refused_header("X", "", "empty value");
    refused_header("X", "a\r\nNats-TTL: 1s", "CR, LF");
    refused_header("X", " a", "white space");
    refused_header("Status", "503", "empty body");
}

static void at_most_128_headers_and_the_last_of_a_name_counts(void **state)
{
    (void)state;
    static Entry entries[TASK_HEADERS_MAX + 1];
    static char names[TASK_HEADERS_MAX + 1][16];
    Entry *list[TASK_HEADERS_MAX + 1];
    for (int i = 0; i <= TASK_HEADERS_MAX; i++) {
        entries[i] = (Entry)AX__V1__TASK__HEADERS_ENTRY__INIT;
        snprintf(names[i], sizeof(names[i]), "H%d", i);
        entries[i].key = names[i];
        entries[i].value = "v";
        list[i] = &entries[i];
    }
    Task m = AX__V1__TASK__INIT;
    m.headers = list;
    m.n_headers = TASK_HEADERS_MAX + 1;
    refused(&m, "129", "at most 128");
    m.n_headers = TASK_HEADERS_MAX;
    struct task t;
    struct packed packed;
    void *unpacked = accepted(&m, &t, &packed);
    assert_int_equal(t.header_count, TASK_HEADERS_MAX);
    done(&t, unpacked, &packed);

    m.n_headers = 2;
    entries[0].key = entries[1].key;
    entries[1].value = "last";
    unpacked = accepted(&m, &t, &packed);
    assert_int_equal(t.header_count, 1);
    assert_string_equal(t.headers[0].value, "last");
    done(&t, unpacked, &packed);
}

/* protobuf-c shows such strings cut at the NUL: two keys would be one. */
static void nul_in_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *says;
    } cases[] = {
        {"\x6a\x03"
         "a\0b",
         5, "overlap"},
        {"\x72\x03"
         "1s\0",
         5, "timeout"},
        {"\x7a\x03"
         "a\0b",
         5, "group"},
        {"\x12\x03"
         "a\0b",
         5, "key"},
        {"\x12\x01\0", 3, "key"},
        {"\x1a\x03"
         "a\0b",
         5, "priority"},
        {"\x22\x03"
         "a\0b",
         5, "pool"},
        {"\x32\x03"
         "1s\0",
         5, "backoff"},
        {"\x3a\x03"
         "1s\0",
         5, "delay"},
        {"\x42\x03"
         "a\0b",
         5, "at"},
        {"\x4a\x03"
         "a\0b",
         5, "cron"},
        {"\x52\x03"
         "a\0b",
         5, "time_zone"},
        {"\x5a\x03"
         "a\0b",
         5, "expires"},
        {"\x62\x08\x0a\x03"
         "a\0b"
         "\x12\x01v",
         10, "headers entry"},
        {"\x62\x08\x0a\x01"
         "a"
         "\x12\x03v\0w",
         10, "headers entry"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        refused_bytes(cases[i].bytes, cases[i].n, cases[i].says, "NUL");
    }
}

static void garbage_and_truncated_bytes_are_refused(void **state)
{
    (void)state;
    refused_bytes("not protobuf at all", 19, "19 bytes are not an ax.v1.Task", "Ax-Schema");
    refused_bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "not an ax.v1.Task", "");
    Task m = AX__V1__TASK__INIT;
    m.key = "order-1";
    m.body = (ProtobufCBinaryData){4, (uint8_t *)"body"};
    struct packed packed = pack(&m);
    for (size_t n = 1; n < packed.bytes; n++) {
        struct task t;
        void *unpacked = NULL;
        uint8_t *exact = malloc(n); /* so that a read beyond it is seen by the sanitizer */
        assert_non_null(exact);
        memcpy(exact, packed.data, n);
        if (task_proto_read(&t, SUBJECT, exact, n, &unpacked, NULL) == AX_OK) {
            assert_int_equal(n, 6); /* body alone is a message by itself */
            task_clear(&t);
            task_proto_free(unpacked);
        }
        free(exact);
    }
    free(packed.data);
}

static void bad_subject_is_refused(void **state)
{
    (void)state;
    struct task t;
    struct problem p;
    void *unpacked = NULL;
    assert_int_equal(task_proto_read(&t, "ax.submit.high.a.b", NULL, 0, &unpacked, &p),
                     AX_E_INVALID);
    assert_non_null(strstr(p.text, "subject"));
    assert_null(unpacked);
}

/* A right to publish is given by subject: the body does not go beyond it. */
static void body_names_no_more_than_its_subject(void **state)
{
    (void)state;
    Task m = AX__V1__TASK__INIT;
    m.pool = "sms";
    refused(&m, "pool: \"sms\"", "must be email");
    m.pool = "email";
    m.priority = "low";
    refused(&m, "priority: \"low\"", "must be high");

    static const struct {
        const char *subject, *priority, *pool, *says; /* says NULL: accepted */
    } cases[] = {
        {"ax.submit.high", "", "default", NULL},
        {"ax.submit.high", "", "sms", "must be default"},
        {"ax.submit.high.email", "high", "email", NULL},
        {"ax.submit.high.email", "high", "default", "must be email"},
        {SUBMIT_ANY, "low", "sms", NULL},
        {SUBMIT_ANY, "low", "", NULL},
        {SUBMIT_ANY, "", "sms", "priority: not given"},
        {"ax.submi", "low", "sms", "subject"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        m.priority = (char *)cases[i].priority;
        m.pool = (char *)cases[i].pool;
        struct packed packed = pack(&m);
        struct task t;
        struct problem p = {0};
        void *unpacked = NULL;
        ax_err err = task_proto_read(&t, cases[i].subject, packed.data, packed.bytes, &unpacked,
                                     &p);
        assert_int_equal(err, cases[i].says == NULL ? AX_OK : AX_E_INVALID);
        if (cases[i].says != NULL) {
            assert_non_null(strstr(p.text, cases[i].says));
            free(packed.data);
            continue;
        }
        assert_string_equal(t.pool, cases[i].pool[0] != '\0' ? cases[i].pool : "default");
        done(&t, unpacked, &packed);
    }
}

static void batch_gives_one_task_at_a_time(void **state)
{
    (void)state;
    Task good = AX__V1__TASK__INIT, bad = good, other = good;
    good.key = "one";
    bad.delay = "-5s";
    other.pool = "sms";
    other.priority = "low";
    Task *tasks[] = {&good, &bad, &other};
    Ax__V1__TaskBatch m = AX__V1__TASK_BATCH__INIT;
    m.n_tasks = 3;
    m.tasks = tasks;
    uint8_t data[256];
    size_t bytes = ax__v1__task_batch__pack(&m, data);
    void *batch = NULL;
    size_t count = 0;
    struct problem p = {0};
    assert_int_equal(task_proto_unpack_batch(data, bytes, &batch, &count, &p), AX_OK);
    assert_int_equal(count, 3);
    size_t weighed = 0;
    assert_in_range(task_proto_weigh_batch(data, bytes, &weighed), 3 * sizeof(Task), 4096);
    assert_int_equal(weighed, 3);
    struct task t;
    assert_int_equal(task_proto_read_nth(&t, SUBJECT, batch, 0, &p), AX_OK);
    assert_string_equal(t.key, "one");
    task_clear(&t);
    assert_int_equal(task_proto_read_nth(&t, SUBJECT, batch, 1, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "delay: \"-5s\""));
    assert_int_equal(task_proto_read_nth(&t, SUBJECT, batch, 2, &p), AX_E_INVALID);
    assert_int_equal(task_proto_read_nth(&t, SUBMIT_ANY, batch, 2, &p), AX_OK);
    assert_string_equal(t.pool, "sms");
    assert_string_equal(t.priority, "low");
    task_clear(&t);
    task_proto_free_batch(batch);
    task_proto_free_batch(NULL);

    assert_int_equal(task_proto_unpack_batch("rubbish", 7, &batch, &count, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "ax.v1.TaskBatch"));
    assert_null(batch);
    assert_int_equal(task_proto_unpack_batch(NULL, 0, &batch, &count, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "a batch of 0"));
    assert_null(batch);
    assert_int_equal(task_proto_weigh_batch("rubbish", 7, &count), 4 * 7);
    assert_int_equal(count, 0);
    assert_int_equal(task_proto_weigh_batch(NULL, 0, &count), 0);
}

/* n empty tasks: two bytes each. */
static ax_err unpack_empty_tasks(size_t n, void **batch, size_t *count, struct problem *p)
{
    uint8_t *data = malloc(2 * n);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        data[2 * i] = 0x0a;
        data[2 * i + 1] = 0;
    }
    ax_err err = task_proto_unpack_batch(data, 2 * n, batch, count, p);
    free(data);
    return err;
}

static void batch_is_bounded(void **state)
{
    (void)state;
    void *batch = NULL;
    size_t count = 0;
    struct problem p = {0};
    assert_int_equal(unpack_empty_tasks(TASK_BATCH_MAX, &batch, &count, &p), AX_OK);
    assert_int_equal(count, TASK_BATCH_MAX);
    task_proto_free_batch(batch);
    assert_int_equal(unpack_empty_tasks(TASK_BATCH_MAX + 1, &batch, &count, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "a batch of 1001"));
    assert_null(batch);
    /* a megabyte of them must not become a hundred */
    assert_int_equal(unpack_empty_tasks(500000, &batch, &count, &p), AX_E_INVALID);
    assert_null(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_set_takes_subject_and_defaults),
        cmocka_unit_test(all_fields),
        cmocka_unit_test(time_fields),
        cmocka_unit_test(bad_fields_are_named),
        cmocka_unit_test(bad_headers_are_named),
        cmocka_unit_test(at_most_128_headers_and_the_last_of_a_name_counts),
        cmocka_unit_test(nul_in_text_is_refused),
        cmocka_unit_test(garbage_and_truncated_bytes_are_refused),
        cmocka_unit_test(bad_subject_is_refused),
        cmocka_unit_test(body_names_no_more_than_its_subject),
        cmocka_unit_test(batch_gives_one_task_at_a_time),
        cmocka_unit_test(batch_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
