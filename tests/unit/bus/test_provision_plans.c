/* The rules of provisioning: which streams are made and how, what consumers look like and what is
 * repaired of them, which streams are priorities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bus/provision/consumer_kept.h"
#include "bus/provision/consumer_plan.h"
#include "bus/provision/pool_watch.h"
#include "bus/provision/priorities.h"
#include "bus/provision/stream_plan.h"

#define NS_PER_S 1000000000LL

static const struct api_answer not_found = {.err = AX_E_SERVER, .err_code = JSERR_STREAM_NOT_FOUND};

static const struct stream_plan_asset *asset(const char *name)
{
    int i = stream_plan_find(name);
    assert_true(i >= 0);
    return &stream_plan_assets[i];
}

/* ---- streams ---- */

static void assets_stand_in_the_order_of_their_names(void **state)
{
    (void)state;
    for (int i = 1; i < stream_plan_asset_count; i++)
        assert_true(strcmp(stream_plan_assets[i - 1].name, stream_plan_assets[i].name) < 0);
    assert_true(stream_plan_find(STREAM_WORK) < stream_plan_find(STREAM_DONE));
    assert_int_equal(stream_plan_find("ORDERS"), -1);
}

static void configurations(void **state)
{
    (void)state;
    struct problem p = {0};
    json_t *config = stream_plan_config(asset(STREAM_WORK), 1, 0, &p);
    assert_int_equal(api_integer(config, "num_replicas", -1), 1);
    assert_null(json_object_get(config, "first_seq"));
    json_decref(config);
    config = stream_plan_config(asset(STREAM_WORK), 3, 42, &p);
    assert_int_equal(api_integer(config, "num_replicas", -1), 3);
    assert_int_equal(api_integer(config, "first_seq", -1), 42);
    json_decref(config);
    const struct stream_plan_asset broken = {"X", "{"};
    assert_null(stream_plan_config(&broken, 1, 0, &p));
    assert_int_equal(p.err, AX_E_PROTOCOL);
}

static void another_work_starts_above_all_fencing_tokens(void **state)
{
    (void)state;
    struct problem p = {0};
    json_t *root = json_pack("{s:s}", "ts", "2026-01-02T03:04:05.000006Z");
    struct api_answer info = {.err = AX_OK, .root = root};
    assert_int_equal(stream_plan_first_seq(&not_found, &p), 0);
    assert_int_equal(stream_plan_first_seq(&info, &p), 1767323045000006);
    json_decref(root);
    /* Whether there has been an AX_WORK is not known: none is made. */
    info = (struct api_answer){.err = AX_E_TIMEOUT};
    assert_int_equal(stream_plan_first_seq(&info, &p), -1);
    assert_int_equal(p.err, AX_E_TIMEOUT);
    root = json_object();
    info = (struct api_answer){.err = AX_OK, .root = root};
    assert_int_equal(stream_plan_first_seq(&info, &p), -1);
    assert_int_equal(p.err, AX_E_PROTOCOL);
    json_decref(root);
}

static enum stream_step step(int tries, ax_err err, int err_code, struct problem *p)
{
    const struct api_answer a = {.err = err, .err_code = err_code};
    *p = (struct problem){0};
    return stream_plan_after_create(asset("AX_SPILL"), 3, tries, &a, p);
}

static void after_create(void **state)
{
    (void)state;
    struct problem p;
    json_t *root = json_pack("{s:b}", "did_create", 1);
    struct api_answer ok = {.err = AX_OK, .root = root};
    assert_int_equal(stream_plan_after_create(asset("AX_SPILL"), 1, 1, &ok, &p), STREAM_MADE);
    json_object_del(root, "did_create");
    assert_int_equal(stream_plan_after_create(asset("AX_SPILL"), 1, 1, &ok, &p), STREAM_EXISTS);
    json_decref(root);
    assert_int_equal(step(1, AX_E_SERVER, JSERR_STREAM_NAME_EXISTS, &p), STREAM_EXISTS);
    /* A cluster that elects is asked three times. */
    assert_int_equal(step(1, AX_E_TIMEOUT, 0, &p), STREAM_AGAIN);
    assert_int_equal(step(2, AX_E_SERVER, JSERR_JS_UNAVAILABLE, &p), STREAM_AGAIN);
    assert_int_equal(step(2, AX_E_SERVER, JSERR_NO_PEERS, &p), STREAM_AGAIN);
    assert_int_equal(step(3, AX_E_TIMEOUT, 0, &p), STREAM_REFUSED);
    assert_int_equal(p.err, AX_E_TIMEOUT);
    assert_int_equal(step(3, AX_E_SERVER, JSERR_NO_PEERS, &p), STREAM_REFUSED);
    assert_non_null(strstr(p.text, "3 replicas need as many servers"));
    assert_int_equal(step(1, AX_E_SERVER, JSERR_REPLICAS_NOT_SUPPORTED, &p), STREAM_REFUSED);
    assert_non_null(strstr(p.text, "3 replicas need as many servers"));
    assert_int_equal(step(1, AX_E_SERVER, JSERR_STORAGE_EXCEEDED, &p), STREAM_LOOK);
    assert_int_equal(p.err, AX_E_SERVER);
    assert_int_equal(step(1, AX_E_SERVER, JSERR_BAD_REQUEST, &p), STREAM_REFUSED);
    assert_int_equal(step(1, AX_E_NOMEM, 0, &p), STREAM_REFUSED);
}

static void max_bytes_is_halved_down_to_16_mb(void **state)
{
    (void)state;
    json_t *config = json_pack("{s:I}", "max_bytes", (json_int_t)(64LL << 20));
    assert_true(stream_plan_halve(config));
    assert_true(stream_plan_halve(config));
    assert_int_equal(api_integer(config, "max_bytes", 0), 16LL << 20);
    assert_false(stream_plan_halve(config));
    json_object_set_new(config, "max_bytes", json_integer(-1));
    assert_false(stream_plan_halve(config));
    json_decref(config);
}

/* ---- consumers ---- */

static const json_t *number(const json_t *config, const char *name, int64_t wanted)
{
    assert_int_equal(api_integer(config, name, INT64_MIN), wanted);
    return config;
}

static void consumers_of_a_pool(void **state)
{
    (void)state;
    struct consumer_plan c;
    const struct priority high = {.name = "high", .stream = "AX_HIGH"};
    consumer_plan_work(&c, "email");
    json_t *config = consumer_plan_config(&c);
    assert_string_equal(c.stream, STREAM_WORK);
    assert_string_equal(json_string_value(json_object_get(config, "filter_subject")),
                        "ax.work.email.>");
    number(config, "ack_wait", 30 * NS_PER_S);
    number(config, "max_deliver", 1);
    number(config, "max_ack_pending", 1000);
    json_decref(config);
    /* A queue's lease outlives the worker's by a tenth, and by a second at least. */
    consumer_plan_queue(&c, &high, "email", 60 * NS_PER_S, NULL);
    assert_string_equal(c.stream, "AX_HIGH");
    assert_string_equal(c.filter, "ax.queue.high.email.>");
    assert_int_equal(c.ack_wait_ns, 66 * NS_PER_S);
    consumer_plan_queue(&c, &high, "email", 3 * NS_PER_S, NULL);
    assert_int_equal(c.ack_wait_ns, 4 * NS_PER_S);
    config = consumer_plan_config(&c);
    number(config, "max_deliver", -1);
    number(config, "max_ack_pending", -1);
    json_decref(config);
}

static void consumers_of_feeders(void **state)
{
    (void)state;
    struct consumer_plan c;
    consumer_plan_feeder(&c, STREAM_LATER, "low");
    assert_string_equal(c.name, "feeder-low");
    assert_string_equal(c.filter, "ax.due.low.>");
    consumer_plan_feeder(&c, STREAM_SPILL, "low");
    assert_string_equal(c.filter, "ax.spill.low.>");
    assert_int_equal(c.ack_wait_ns, 6 * NS_PER_S);
}

/* backoff_s 0: it has none. */
static json_t *repair(const struct consumer_plan *c, int64_t ack_wait_s, int max_deliver,
                      int64_t backoff_s, char *line)
{
    json_t *config = json_pack("{s:I,s:i,s:i}", "ack_wait", (json_int_t)(ack_wait_s * NS_PER_S),
                               "max_deliver", max_deliver, "max_ack_pending", 7);
    if (backoff_s > 0) {
        json_object_set_new(config, "backoff",
                            json_pack("[I]", (json_int_t)(backoff_s * NS_PER_S)));
    }
    const struct consumer_info info = {
        .ack_wait_ns = ack_wait_s * NS_PER_S, .max_deliver = max_deliver, .config = config};
    json_t *repaired = consumer_plan_repair(c, &info, line, 192);
    json_decref(config);
    return repaired;
}

static void what_is_repaired_and_what_is_left_alone(void **state)
{
    (void)state;
    struct consumer_plan c;
    char line[192];
    const struct priority high = {.name = "high", .stream = "AX_HIGH"};
    consumer_plan_work(&c, "email");
    assert_null(repair(&c, 60, 1, 0, line)); /* an operator's ack wait */
    json_t *config = repair(&c, 60, 5, 0, line);
    number(number(number(config, "max_deliver", 1), "max_ack_pending", 7), "ack_wait",
           60 * NS_PER_S);
    assert_string_equal(line, "consumer email on AX_WORK: max_deliver 5 set back to 1");
    json_decref(config);
    consumer_plan_queue(&c, &high, "email", 60 * NS_PER_S, NULL);
    assert_null(repair(&c, 66, -1, 0, line));
    config = repair(&c, 33, -1, 0, line);
    number(number(config, "ack_wait", 66 * NS_PER_S), "max_deliver", -1);
    assert_string_equal(line, "consumer email on AX_HIGH: ack_wait 33000 ms set to 66000 ms");
    json_decref(config);
    consumer_plan_feeder(&c, STREAM_LATER, "low");
    assert_null(repair(&c, 1, -1, 0, line));
}

/* A backoff replaces the ack wait, and needs a max_deliver that leaves messages where they are. */
static void what_a_backoff_brings_is_put_back_whole(void **state)
{
    (void)state;
    struct consumer_plan c;
    char line[192];
    const struct priority high = {.name = "high", .stream = "AX_HIGH"};
    consumer_plan_work(&c, "email");
    json_t *kept = json_pack("{s:I}", "ack_wait", (json_int_t)(60 * NS_PER_S));
    c.kept = kept;
    json_t *config = repair(&c, 1, 3, 1, line);
    number(number(config, "max_deliver", 1), "ack_wait", 60 * NS_PER_S);
    assert_null(json_object_get(config, "backoff"));
    assert_string_equal(line, "consumer email on AX_WORK: backoff removed, max_deliver 3 set back "
                              "to 1, ack_wait 1000 ms set to 60000 ms");
    json_decref(config);
    json_decref(kept);
    c.kept = NULL; /* nothing is known of it: AX's own */
    config = repair(&c, 1, 1, 1, line);
    number(config, "ack_wait", 30 * NS_PER_S);
    json_decref(config);
    consumer_plan_queue(&c, &high, "email", 60 * NS_PER_S, NULL);
    config = repair(&c, 1, 3, 1, line);
    number(number(config, "max_deliver", -1), "ack_wait", 66 * NS_PER_S);
    assert_null(json_object_get(config, "backoff"));
    json_decref(config);
    consumer_plan_feeder(&c, STREAM_LATER, "low");
    config = repair(&c, 1, 9, 1, line);
    number(number(config, "max_deliver", -1), "ack_wait", 6 * NS_PER_S);
    json_decref(config);
}

static void what_a_queue_keeps_of_the_workers_consumer(void **state)
{
    (void)state;
    struct consumer_plan c;
    char text[128];
    consumer_plan_work(&c, "email");
    json_t *own = consumer_plan_config(&c);
    json_t *config = json_pack("{s:I,s:i,s:i,s:s,s:b,s:i}", "ack_wait", (json_int_t)(60 * NS_PER_S),
                               "max_ack_pending", 100, "max_waiting", 512, "description", "",
                               "mem_storage", 0, "num_replicas", 0);
    json_t *kept = consumer_kept_of(config, own);
    assert_int_equal(json_object_size(kept), 2);
    consumer_kept_text(kept, text, sizeof(text));
    assert_string_equal(text, "ack_wait=1m max_ack_pending=100");
    consumer_kept_text(kept, text, 12);
    assert_string_equal(text, "ack_wait=1m");
    json_t *queue = json_object();
    assert_true(consumer_kept_is(queue, NULL));
    assert_false(consumer_kept_is(queue, kept));
    assert_true(consumer_kept_write(queue, kept) && consumer_kept_is(queue, kept));
    json_t *read = consumer_kept_read(queue);
    assert_true(json_equal(read, kept));
    assert_false(consumer_kept_is_made_again(own));
    assert_true(consumer_kept_apply(own, read) && consumer_kept_is_made_again(own));
    number(number(own, "ack_wait", 60 * NS_PER_S), "max_ack_pending", 100);
    number(own, "max_deliver", 1);
    /* Nothing differs any more: nothing is kept. */
    json_object_clear(kept);
    assert_true(consumer_kept_write(queue, kept) && consumer_kept_is(queue, NULL));
    json_decref(own), json_decref(config), json_decref(kept), json_decref(queue), json_decref(read);
}

static void what_is_kept_by_nobody_who_should_is_not_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[]",
                                        "7",
                                        "{",
                                        "{\"ack_wait\":\"1s\"}",
                                        "{\"ack_wait\":-5}",
                                        "{\"max_deliver\":9}",
                                        "{\"filter_subject\":\">\",\"name\":\"x\"}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        json_t *queue = json_pack("{s:{s:s}}", "metadata", CONSUMER_KEPT_KEY, texts[i]);
        assert_null(consumer_kept_read(queue));
        json_decref(queue);
    }
}

/* ---- priorities ---- */

static ax_err add(struct priorities *ps, const char *stream, const char *subject, const char *rank)
{
    struct problem p;
    const struct stream_info info = {.name = stream,
                                     .subject = subject,
                                     .subject_count = 1,
                                     .rank = rank,
                                     .on_full = "spill",
                                     .group_share = "0.25",
                                     .max_msgs = 0,
                                     .messages = 5};
    return priorities_add(ps, &info, &p);
}

static void priorities_by_rank_then_name(void **state)
{
    (void)state;
    struct priorities ps = {0};
    assert_int_equal(add(&ps, "LOW", "ax.queue.low.>", "3"), AX_OK);
    assert_int_equal(add(&ps, "B", "ax.queue.b.>", "1"), AX_OK);
    assert_int_equal(add(&ps, "A", "ax.queue.a.>", "1"), AX_OK);
    assert_int_equal(add(&ps, "FIRST", "ax.queue.first.>", "-2"), AX_OK);
    assert_int_equal(add(&ps, "NONE", "ax.queue.none.>", NULL), AX_OK);
    assert_int_equal(ps.count, 4);
    static const char *const order[] = {"first", "a", "b", "low"};
    for (int i = 0; i < ps.count; i++)
        assert_string_equal(ps.list[i].name, order[i]);
    assert_int_equal(priorities_find(&ps, "b"), 2);
    assert_int_equal(priorities_find(&ps, "none"), -1);
    assert_true(ps.list[0].spill);
    assert_true(ps.list[0].group_share == 0.25);
    assert_int_equal(ps.list[0].max_msgs, -1);
    assert_int_equal(ps.list[0].messages, 5);
}

static void streams_that_are_no_priority(void **state)
{
    (void)state;
    struct priorities ps = {0};
    assert_int_equal(add(&ps, "X", "ax.queue.x.y.>", "1"), AX_OK);
    assert_int_equal(add(&ps, "X", "orders.>", "1"), AX_OK);
    assert_int_equal(add(&ps, "X", NULL, "1"), AX_OK);
    assert_int_equal(add(&ps, "X", "ax.queue.x.>", "one"), AX_OK);
    assert_int_equal(add(&ps, "A234567890123456789012345678901234567890123456789012345678901234",
                         "ax.queue.x.>", "1"),
                     AX_OK);
    assert_int_equal(ps.count, 0);
    for (int i = 0; i < PRIORITIES_MAX; i++)
        assert_int_equal(add(&ps, "X", "ax.queue.x.>", "1"), AX_OK);
    assert_int_equal(add(&ps, "X", "ax.queue.x.>", "1"), AX_E_FULL);
}

/* ---- pools that cannot be made ---- */

static void pauses_grow_up_to_a_minute(void **state)
{
    (void)state;
    const int64_t wanted_ms[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (int i = 0; i < 8; i++)
        assert_int_equal(pool_watch_pause_ms(i + 1), wanted_ms[i]);
    assert_int_equal(pool_watch_pause_ms(1000000), 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assets_stand_in_the_order_of_their_names),
        cmocka_unit_test(configurations),
        cmocka_unit_test(another_work_starts_above_all_fencing_tokens),
        cmocka_unit_test(after_create),
        cmocka_unit_test(max_bytes_is_halved_down_to_16_mb),
        cmocka_unit_test(consumers_of_a_pool),
        cmocka_unit_test(consumers_of_feeders),
        cmocka_unit_test(what_is_repaired_and_what_is_left_alone),
        cmocka_unit_test(what_a_backoff_brings_is_put_back_whole),
        cmocka_unit_test(what_a_queue_keeps_of_the_workers_consumer),
        cmocka_unit_test(what_is_kept_by_nobody_who_should_is_not_taken),
        cmocka_unit_test(priorities_by_rank_then_name),
        cmocka_unit_test(streams_that_are_no_priority),
        cmocka_unit_test(pauses_grow_up_to_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
