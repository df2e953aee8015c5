/* The jobs of provisioning against a server made up here: which questions they ask in which order,
 * and what they make of the answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bus/provision/asker.h"
#include "bus/provision/consumers.h"
#include "bus/provision/stream_plan.h"
#include "bus/provision/streams.h"

#define ASKED_MAX 128

struct server {
    json_t *streams, *consumers; /* what exists: name -> config */
    int out_of_storage;          /* creations still refused for want of storage */
    int electing;                /* creations still refused while a leader is elected */
    const char *missing;         /* stream without a leader */
    const char *broken;          /* questions that begin like this are not answered */
    char asked[ASKED_MAX][96];
    int count;
    struct asker asker;
    struct problem problem; /* of the job that ended */
    int ended;
    char changed[256]; /* last line of a change */
    int changes;
};

/* ---- its API ---- */

static json_t *refuse(struct api_answer *out, int err_code)
{
    *out = (struct api_answer){.err = AX_E_SERVER, .err_code = err_code};
    snprintf(out->description, sizeof(out->description), "refused");
    return NULL;
}

static json_t *list(const struct server *s, bool names)
{
    json_t *found = json_array();
    const char *name;
    json_t *config;
    json_object_foreach(s->streams, name, config) {
        json_array_append_new(found, names ? json_string(name)
                                           : json_pack("{s:O,s:{}}", "config", config, "state"));
    }
    return json_pack("{s:o,s:i}", "streams", found, "total", (int)json_array_size(found));
}

static json_t *create_stream(struct server *s, const char *name, const json_t *config,
                             struct api_answer *out)
{
    if (s->electing > 0 && s->electing--)
        return refuse(out, JSERR_JS_UNAVAILABLE);
    if (s->out_of_storage > 0 && s->out_of_storage--)
        return refuse(out, JSERR_STORAGE_EXCEEDED);
    json_object_set_new(s->streams, name, json_deep_copy(config));
    return json_pack("{s:b}", "did_create", 1);
}

static json_t *stream_info(const struct server *s, const char *name, struct api_answer *out)
{
    return json_object_get(s->streams, name) == NULL
               ? refuse(out, JSERR_STREAM_NOT_FOUND)
               : json_pack("{s:s}", "ts", "2026-01-02T03:04:05.000006Z");
}

static json_t *consumer(struct server *s, const char *key, json_t *payload, struct api_answer *out)
{
    if (payload != NULL)
        json_object_set(s->consumers, key, json_object_get(payload, "config"));
    json_t *config = json_object_get(s->consumers, key);
    return config == NULL ? refuse(out, JSERR_CONSUMER_NOT_FOUND)
                          : json_pack("{s:O,s:{}}", "config", config, "delivered");
}

static bool take_prefix(const char **what, const char *prefix)
{
    bool is = strncmp(*what, prefix, strlen(prefix)) == 0;
    *what += is ? strlen(prefix) : 0;
    return is;
}

static json_t *answer(struct server *s, const char *what, json_t *payload, struct api_answer *out)
{
    if (s->broken != NULL && strncmp(what, s->broken, strlen(s->broken)) == 0) {
        out->err = AX_E_TIMEOUT;
        return NULL;
    }
    if (strcmp(what, "STREAM.NAMES") == 0)
        return list(s, true);
    if (strcmp(what, "STREAM.LIST") == 0) {
        json_t *root = list(s, false);
        if (s->missing != NULL)
            json_object_set_new(root, "missing", json_pack("[s]", s->missing));
        return root;
    }
    if (take_prefix(&what, "STREAM.CREATE."))
        return create_stream(s, what, payload, out);
    if (take_prefix(&what, "STREAM.INFO."))
        return stream_info(s, what, out);
    if (take_prefix(&what, "CONSUMER.INFO."))
        return consumer(s, what, NULL, out);
    char key[96];
    assert_true(take_prefix(&what, "CONSUMER.CREATE."));
    snprintf(key, sizeof(key), "%s.%s", json_string_value(json_object_get(payload, "stream_name")),
             json_string_value(json_object_get(json_object_get(payload, "config"), "name")));
    return consumer(s, key, payload, out);
}

static void request(void *arg, const char *what, json_t *payload, struct api_answer *out,
                    json_t **root)
{
    struct server *s = arg;
    assert_true(s->count < ASKED_MAX);
    snprintf(s->asked[s->count++], sizeof(s->asked[0]), "%s", what);
    *out = (struct api_answer){.err = AX_OK};
    *root = answer(s, what, payload, out);
    out->root = *root;
    json_decref(payload);
}

/* ---- helpers ---- */

static struct server server;

static int start(void **state)
{
    (void)state;
    server = (struct server){.streams = json_object(), .consumers = json_object()};
    asker_init_blocking(&server.asker, request, &server);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    json_decref(server.streams);
    json_decref(server.consumers);
    return 0;
}

static void on_done(void *arg, const struct problem *p)
{
    (void)arg;
    server.problem = *p;
    server.ended++;
}

static void on_consumers(void *arg, const char *pool, const struct problem *p)
{
    (void)pool;
    on_done(arg, p);
}

static void on_changed(void *arg, const char *line)
{
    (void)arg;
    snprintf(server.changed, sizeof(server.changed), "%s", line);
    server.changes++;
}

static int asked(const char *what)
{
    int times = 0;
    for (int i = 0; i < server.count; i++)
        times += strcmp(server.asked[i], what) == 0;
    return times;
}

static struct streams streams_job(void)
{
    return (struct streams){.asker = &server.asker, .done = on_done};
}

static void ensure(struct streams *s)
{
    server.count = server.ended = 0;
    streams_ensure(s);
    assert_int_equal(server.count, 0); /* nothing is asked outside asker_run */
    asker_run(&server.asker);
    assert_int_equal(server.ended, 1);
}

static int64_t stream_number(const char *stream, const char *name)
{
    return api_integer(json_object_get(server.streams, stream), name, INT64_MIN);
}

/* ---- streams ---- */

static void creates_what_is_missing_only(void **state)
{
    (void)state;
    struct streams s = streams_job();
    ensure(&s);
    assert_int_equal(server.problem.err, AX_OK);
    assert_int_equal(json_object_size(server.streams), stream_plan_asset_count);
    assert_int_equal(stream_number(STREAM_WORK, "first_seq"), INT64_MIN); /* the first AX_WORK */
    json_object_set_new(json_object_get(server.streams, "AX_HIGH"), "max_msgs", json_integer(7));
    ensure(&s);
    assert_int_equal(server.count, 1); /* STREAM.NAMES */
    assert_int_equal(stream_number("AX_HIGH", "max_msgs"), 7);
}

static void another_work_begins_above_the_former_one(void **state)
{
    (void)state;
    struct streams s = streams_job();
    ensure(&s);
    json_object_del(server.streams, STREAM_WORK);
    ensure(&s);
    /* What this process had seen is looked for twice before it is made. */
    assert_int_equal(asked("STREAM.NAMES"), 2);
    assert_int_equal(stream_number(STREAM_WORK, "first_seq"), 1767323045000006);
}

static void no_work_without_knowing_of_a_former_one(void **state)
{
    (void)state;
    struct streams s = streams_job();
    server.broken = STREAM_PLAN_DONE_INFO;
    ensure(&s);
    assert_int_equal(server.problem.err, AX_E_TIMEOUT);
    assert_null(json_object_get(server.streams, STREAM_WORK));
}

static void smaller_on_a_small_disk(void **state)
{
    (void)state;
    struct streams s = streams_job();
    ensure(&s);
    int64_t full = stream_number("AX_SPILL", "max_bytes");
    s = streams_job();
    json_object_del(server.streams, "AX_SPILL");
    server.out_of_storage = 2;
    ensure(&s);
    assert_int_equal(server.problem.err, AX_OK);
    assert_int_equal(asked("STREAM.INFO.AX_SPILL"), 2);
    assert_int_equal(stream_number("AX_SPILL", "max_bytes"), full / 4);
    s = streams_job();
    json_object_del(server.streams, "AX_HIGH"); /* no max_bytes: nothing to halve */
    server.out_of_storage = 1;
    ensure(&s);
    assert_int_equal(server.problem.err, AX_E_SERVER);
}

static void asks_again_while_a_leader_is_elected(void **state)
{
    (void)state;
    struct streams s = streams_job();
    server.electing = 1;
    ensure(&s);
    assert_int_equal(server.problem.err, AX_OK);
    assert_int_equal(asked("STREAM.CREATE.AX_DEAD"), 2);
}

/* ---- priorities ---- */

static void reads_priorities_unless_one_has_no_leader(void **state)
{
    (void)state;
    struct streams s = streams_job();
    struct priorities_reading r;
    ensure(&s);
    priorities_read(&r, &server.asker, on_done, NULL);
    asker_run(&server.asker);
    assert_int_equal(server.problem.err, AX_OK);
    assert_int_equal(r.found.count, 3);
    assert_string_equal(r.found.list[0].name, "high");
    server.missing = "AX_LOW";
    priorities_read(&r, &server.asker, on_done, NULL);
    asker_run(&server.asker);
    assert_int_equal(server.problem.err, AX_E_NO_RESPONDERS);
}

/* ---- consumers ---- */

static const struct priorities two = {
    .count = 2,
    .list = {{.name = "high", .stream = "AX_HIGH"}, {.name = "low", .stream = "AX_LOW"}}};
static const struct consumers_events events = {.changed = on_changed, .done = on_consumers};

static void ensure_pool(void)
{
    server.count = server.ended = server.changes = 0;
    consumers_ensure_pool(&server.asker, &two, "email", &events);
    asker_run(&server.asker);
    assert_int_equal(server.ended, 1);
}

static int64_t consumer_number(const char *key, const char *name)
{
    return api_integer(json_object_get(server.consumers, key), name, INT64_MIN);
}

static void a_pool_has_its_consumers(void **state)
{
    (void)state;
    ensure_pool();
    assert_int_equal(server.problem.err, AX_OK);
    assert_int_equal(server.changes, 3);
    assert_int_equal(asked("CONSUMER.CREATE.AX_WORK.email.ax.work.email.>"), 1);
    assert_int_equal(consumer_number("AX_HIGH.email", "ack_wait"), 33000000000);
    ensure_pool();
    assert_int_equal(server.changes, 0);
    assert_int_equal(server.count, 3);
}

static void queues_follow_the_ack_wait_of_work(void **state)
{
    (void)state;
    ensure_pool();
    json_object_set_new(json_object_get(server.consumers, "AX_WORK.email"), "ack_wait",
                        json_integer(60000000000));
    json_object_set_new(json_object_get(server.consumers, "AX_WORK.email"), "max_deliver",
                        json_integer(5));
    ensure_pool();
    assert_int_equal(server.changes, 3);
    assert_int_equal(consumer_number("AX_WORK.email", "max_deliver"), 1);
    assert_int_equal(consumer_number("AX_WORK.email", "ack_wait"), 60000000000);
    assert_int_equal(consumer_number("AX_LOW.email", "ack_wait"), 66000000000);
}

static void edit(const char *key, const char *name, json_t *value)
{
    json_object_set_new(json_object_get(server.consumers, key), name, value);
}

static void what_was_deleted_is_made_as_it_was(void **state)
{
    (void)state;
    ensure_pool();
    edit("AX_WORK.email", "ack_wait", json_integer(60000000000));
    edit("AX_WORK.email", "max_ack_pending", json_integer(100));
    ensure_pool();
    assert_int_equal(server.changes, 2); /* the queues', which keep it */
    json_object_del(server.consumers, "AX_WORK.email");
    json_object_del(server.consumers, "AX_HIGH.email");
    ensure_pool();
    assert_int_equal(server.problem.err, AX_OK);
    assert_int_equal(consumer_number("AX_WORK.email", "ack_wait"), 60000000000);
    assert_int_equal(consumer_number("AX_WORK.email", "max_ack_pending"), 100);
    assert_int_equal(consumer_number("AX_HIGH.email", "ack_wait"), 66000000000);
    assert_int_equal(server.changes, 2);
    /* Not known whether something was kept: nothing is made. */
    json_object_del(server.consumers, "AX_WORK.email");
    server.broken = "CONSUMER.INFO.AX_HIGH";
    ensure_pool();
    assert_int_equal(server.problem.err, AX_E_TIMEOUT);
    assert_null(json_object_get(server.consumers, "AX_WORK.email"));
}

static void a_backoff_is_taken_back_with_what_it_replaced(void **state)
{
    (void)state;
    ensure_pool();
    edit("AX_WORK.email", "ack_wait", json_integer(60000000000));
    ensure_pool();
    edit("AX_WORK.email", "ack_wait", json_integer(1000000000));
    edit("AX_WORK.email", "max_deliver", json_integer(3));
    edit("AX_WORK.email", "backoff", json_pack("[I]", (json_int_t)1000000000));
    ensure_pool();
    assert_int_equal(server.changes, 1);
    assert_int_equal(consumer_number("AX_WORK.email", "ack_wait"), 60000000000);
    assert_int_equal(consumer_number("AX_WORK.email", "max_deliver"), 1);
    assert_int_equal(consumer_number("AX_HIGH.email", "ack_wait"), 66000000000);
}

static void one_trouble_ends_a_pool_once(void **state)
{
    (void)state;
    server.broken = "CONSUMER.CREATE.AX_";
    ensure_pool();
    assert_int_equal(server.problem.err, AX_E_TIMEOUT);
    server.broken = "CONSUMER.INFO.AX_LOW";
    ensure_pool();
    assert_int_equal(server.problem.err, AX_E_TIMEOUT);
    assert_non_null(json_object_get(server.consumers, "AX_HIGH.email"));
}

static void feeders_are_made_without_a_word(void **state)
{
    (void)state;
    consumers_ensure_feeders(&server.asker, &two, &events);
    asker_run(&server.asker);
    assert_int_equal(server.ended, 1);
    assert_int_equal(server.changes, 0);
    assert_int_equal(json_object_size(server.consumers), 4);
    assert_int_equal(consumer_number("AX_SPILL.feeder-low", "ack_wait"), 6000000000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(creates_what_is_missing_only),
        TEST(another_work_begins_above_the_former_one),
        TEST(no_work_without_knowing_of_a_former_one),
        TEST(smaller_on_a_small_disk),
        TEST(asks_again_while_a_leader_is_elected),
        TEST(reads_priorities_unless_one_has_no_leader),
        TEST(a_pool_has_its_consumers),
        TEST(queues_follow_the_ack_wait_of_work),
        TEST(what_was_deleted_is_made_as_it_was),
        TEST(a_backoff_is_taken_back_with_what_it_replaced),
        TEST(one_trouble_ends_a_pool_once),
        TEST(feeders_are_made_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
