/* Answers of the JetStream API: errors, stream and consumer infos, advisories, PubAcks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bus/advisory.h"
#include "bus/api.h"
#include "bus/consumer_info.h"
#include "bus/pipeline_get.h"
#include "bus/puback.h"
#include "bus/stream_info.h"

static json_t *read_ok(const char *text)
{
    struct api_answer a;
    json_t *root;
    api_read(text, strlen(text), &a, &root);
    assert_int_equal(a.err, AX_OK);
    assert_ptr_equal(a.root, root);
    return root;
}

static void test_errors(void **state)
{
    (void)state;
    static const char error[] = "{\"type\":\"x\",\"error\":{\"code\":404,\"err_code\":10059,"
                                "\"description\":\"stream not found\"}}";
    struct api_answer a;
    json_t *root;
    api_read(error, strlen(error), &a, &root);
    assert_int_equal(a.err, AX_E_SERVER);
    assert_int_equal(a.err_code, JSERR_STREAM_NOT_FOUND);
    assert_string_equal(a.description, "stream not found");
    assert_null(root);
    api_read("[1]", 3, &a, &root);
    assert_int_equal(a.err, AX_E_PROTOCOL);
    assert_null(root);
    api_read("", 0, &a, &root);
    assert_int_equal(a.err, AX_E_PROTOCOL);
    assert_int_equal(a.err_code, 0);
}

static void test_stream_info(void **state)
{
    (void)state;
    struct stream_info s;
    json_t *root = read_ok(
        "{\"config\":{\"name\":\"AX_HIGH\",\"subjects\":[\"ax.queue.high.>\"],\"max_msgs\":1000,"
        "\"max_bytes\":-1,\"max_age\":5000000000,\"num_replicas\":3,\"metadata\":{\"ax.rank\":"
        "\"10\",\"ax.on_full\":\"spill\",\"ax.group_share\":\"0.5\",\"ax.max_later\":\"77\"}},"
        "\"created\":\"2026-01-02T03:04:05.000000006Z\",\"ts\":\"2026-01-02T03:04:06Z\","
        "\"state\":{\"messages\":5,\"bytes\":600,\"first_seq\":8,\"last_seq\":12}}");
    assert_int_equal(stream_info_read(root, &s), AX_OK);
    assert_string_equal(s.name, "AX_HIGH");
    assert_string_equal(s.subject, "ax.queue.high.>");
    assert_int_equal(s.subject_count, 1);
    assert_int_equal(s.replicas, 3);
    assert_int_equal(s.created_ns % 1000000000, 6);
    assert_int_equal(s.ts_ns - s.created_ns, 999999994);
    assert_int_equal(s.messages, 5);
    assert_int_equal(s.bytes, 600);
    assert_int_equal(s.first_seq, 8);
    assert_int_equal(s.last_seq, 12);
    assert_int_equal(s.max_msgs, 1000);
    assert_int_equal(s.max_bytes, -1);
    assert_int_equal(s.max_age_ns, 5000000000);
    assert_string_equal(s.rank, "10");
    assert_string_equal(s.on_full, "spill");
    assert_string_equal(s.group_share, "0.5");
    assert_int_equal(s.max_later, 77);
    json_decref(root);
}

static void test_stream_info_of_little(void **state)
{
    (void)state;
    struct stream_info s;
    json_t *root = read_ok("{\"config\":{\"name\":\"S\",\"metadata\":{\"ax.max_later\":\"7x\"}},"
                           "\"state\":{},\"created\":\"yesterday\"}");
    assert_int_equal(stream_info_read(root, &s), AX_OK);
    assert_int_equal(s.max_later, -1);
    assert_int_equal(s.created_ns, 0);
    assert_int_equal(s.max_msgs, -1);
    assert_null(s.subject);
    assert_null(s.rank);
    json_decref(root);
    root = read_ok("{\"config\":{\"name\":\"S\"}}");
    assert_int_equal(stream_info_read(root, &s), AX_E_PROTOCOL);
    json_decref(root);
}

static void test_consumer_info(void **state)
{
    (void)state;
    struct consumer_info c;
    json_t *root = read_ok(
        "{\"config\":{\"ack_wait\":30000000000,\"max_ack_pending\":1000,\"max_deliver\":1},"
        "\"delivered\":{\"consumer_seq\":4,\"stream_seq\":9},\"num_ack_pending\":2,"
        "\"num_pending\":3,\"num_waiting\":1,\"paused\":true,\"cluster\":{\"leader\":\"n1\"},"
        "\"ts\":\"2026-01-02T03:04:06Z\"}");
    assert_int_equal(consumer_info_read(root, &c), AX_OK);
    assert_int_equal(c.ack_wait_ns, 30000000000);
    assert_int_equal(c.max_ack_pending, 1000);
    assert_int_equal(c.max_deliver, 1);
    assert_int_equal(c.delivered_stream_seq, 9);
    assert_int_equal(c.delivered_consumer_seq, 4);
    assert_int_equal(c.num_ack_pending, 2);
    assert_int_equal(c.num_pending, 3);
    assert_int_equal(c.num_waiting, 1);
    assert_true(c.paused);
    assert_string_equal(c.leader, "n1");
    assert_true(c.ts_ns > 0);
    assert_ptr_equal(c.config, json_object_get(root, "config"));
    json_decref(root);
    root = read_ok("{\"config\":{}}");
    assert_int_equal(consumer_info_read(root, &c), AX_E_PROTOCOL);
    json_decref(root);
}

static bool advisory(const char *text, struct advisory *a)
{
    return advisory_read(text, strlen(text), a);
}

static void test_advisories(void **state)
{
    (void)state;
    struct advisory a;
    assert_true(advisory("{\"consumer\":\"email\",\"stream_seq\":42}", &a));
    assert_string_equal(a.consumer, "email");
    assert_int_equal(a.stream_seq, 42);
    assert_false(a.has_reason);
    assert_false(a.is_servers_own);
    assert_true(
        advisory("{\"consumer\":\"email\",\"stream_seq\":1,\"reason\":\"no such user\"}", &a));
    assert_string_equal(a.reason, "no such user");
    assert_true(a.has_reason);
    assert_false(a.is_servers_own);
    assert_true(advisory("{\"reason\":\"Unacknowledged message was deleted\"}", &a));
    assert_true(a.is_servers_own);
    assert_int_equal(a.stream_seq, 0);
    assert_string_equal(a.consumer, "");
    assert_false(advisory("no JSON", &a));
    assert_false(advisory("", &a));
}

static struct answer puback(const char *text)
{
    struct answer a = {.err = AX_OK};
    puback_read(text, strlen(text), &a);
    return a;
}

static void test_pubacks(void **state)
{
    (void)state;
    struct answer a = puback("{\"stream\":\"AX_HIGH\",\"seq\":42}");
    assert_int_equal(a.err, AX_OK);
    assert_string_equal(a.stream, "AX_HIGH");
    assert_int_equal(a.seq, 42);
    assert_false(a.duplicate);
    a = puback("{\"stream\":\"AX_HIGH\",\"seq\":42,\"duplicate\":true}");
    assert_true(a.duplicate);
    a = puback("{ \"seq\": 7, \"stream\": \"S\", \"domain\": \"hub\" }");
    assert_int_equal(a.err, AX_OK);
    assert_int_equal(a.seq, 7);
    assert_int_equal(puback("").err, AX_E_PROTOCOL);
    assert_int_equal(puback("{\"stream\":\"S\",\"seq\":4").err, AX_E_PROTOCOL);
}

static struct answer refusal(int err_code, const char *text)
{
    char json[256];
    snprintf(json, sizeof(json),
             "{\"error\":{\"code\":503,\"err_code\":%d,\"description\":\"%s\"}}", err_code, text);
    return puback(json);
}

static void test_refusals(void **state)
{
    (void)state;
    struct answer a = refusal(JSERR_STORE_FULL, "maximum messages exceeded");
    assert_int_equal(a.err, AX_E_SERVER);
    assert_int_equal(a.code, 503);
    assert_int_equal(a.full_of, JSERR_FULL_MESSAGES);
    assert_int_equal(refusal(JSERR_STORE_FULL, "maximum bytes exceeded").full_of, JSERR_FULL_BYTES);
    assert_int_equal(refusal(JSERR_STORE_FULL, "maximum messages per subject exceeded").full_of,
                     JSERR_FULL_SUBJECT);
    assert_int_equal(refusal(JSERR_STORE_FULL, "no more").full_of, JSERR_FULL_UNKNOWN);
    assert_int_equal(refusal(JSERR_WRONG_LAST_SEQ, "wrong last sequence: 42").last_seq, 42);
    assert_int_equal(refusal(JSERR_WRONG_LAST_SEQ, "wrong last sequence").last_seq, 0);
    assert_int_equal(refusal(JSERR_NO_MESSAGE, "bytes: 42").last_seq, 0);
}

static ax_err stored(const char *json, struct stored_msg *out)
{
    json_t *root = read_ok(json);
    ax_err err = pipeline_get_read(root, out);
    assert_true(out->subject == NULL || strcmp(out->subject, "ax.later.high.email.k1") == 0);
    out->subject = NULL; /* goes with root */
    json_decref(root);
    return err;
}

#define STORED(more)                                                  \
    "{\"message\":{\"subject\":\"ax.later.high.email.k1\",\"seq\":7," \
    "\"time\":\"2026-01-02T03:04:05.000000006Z\"" more "}}"

static void test_stored_messages(void **state)
{
    (void)state;
    struct stored_msg m;
    const char *value;
    /* "NATS/1.0\r\nAx-Key: a b\r\nAx-Empty:\r\n\r\n" and "body" */
    assert_int_equal(stored(STORED(",\"hdrs\":\"TkFUUy8xLjANCkF4LUtleTogYSBiDQpBeC1FbXB0eToNCg0K\","
                                   "\"data\":\"Ym9keQ==\""),
                            &m),
                     AX_OK);
    assert_int_equal(m.seq, 7);
    assert_int_equal(m.time_ns % 1000000000, 6);
    assert_int_equal(natsMsg_GetDataLength(m.msg), 4);
    assert_memory_equal(natsMsg_GetData(m.msg), "body", 4);
    assert_int_equal(natsMsgHeader_Get(m.msg, "Ax-Key", &value), NATS_OK);
    assert_string_equal(value, "a b");
    natsMsg_Destroy(m.msg);
    assert_int_equal(stored(STORED(""), &m), AX_OK);
    assert_int_equal(natsMsg_GetDataLength(m.msg), 0);
    natsMsg_Destroy(m.msg);
    assert_int_equal(stored(STORED(",\"data\":\"not base64\""), &m), AX_E_PROTOCOL);
    assert_null(m.msg);
    assert_int_equal(stored("{\"message\":{\"seq\":7}}", &m), AX_E_PROTOCOL);
    assert_int_equal(stored("{}", &m), AX_E_PROTOCOL);
}

static int open_nats(void **state)
{
    (void)state;
    return nats_Open(-1) == NATS_OK ? 0 : -1;
}

static int close_nats(void **state)
{
    (void)state;
    nats_Close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_stream_info),
        cmocka_unit_test(test_stream_info_of_little),
        cmocka_unit_test(test_consumer_info),
        cmocka_unit_test(test_advisories),
        cmocka_unit_test(test_pubacks),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_stored_messages),
    };
    return cmocka_run_group_tests(tests, open_nats, close_nats);
}
