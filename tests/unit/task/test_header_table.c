/* Every row of the table of headers, on the whole way of a task: submitted in either form, stored,
 * handed off, adopted, dead, compared. A row without a sample here fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ax/v1/task.pb-c.h"
#include "task/header_table.h"
#include "task/task.h"
#include "task/task_proto.h"
#include "task/task_stored.h"
#include "task/task_submit.h"

#define ID "0123456789abcdef0123456789abcdef"

/* value: as it is stored; with: the headers it cannot be given without. */
static const struct sample {
    const char *value;
    const char *with[4];
} samples[HEADER_COUNT] = {
    [HEADER_KEY] = {"order 1", {0}},
    [HEADER_DELAY] = {"90s", {0}},
    [HEADER_AT] = {"2030-01-31T09:00:00.000000000Z", {0}},
    [HEADER_CRON] = {"0 30 9 * * 1-5", {HDR_KEY, "k"}},
    [HEADER_TIME_ZONE] = {"Europe/Zurich", {HDR_KEY, "k", HDR_CRON, "0 30 9 * * 1-5"}},
    [HEADER_BACKOFF] = {"1500ms", {0}},
    [HEADER_EXPIRES] = {"2030-01-31T09:00:00.000000007Z", {0}},
    [HEADER_MAX_RETRY] = {"0", {0}},
    [HEADER_OVERLAP] = {"queue", {HDR_KEY, "k", HDR_CRON, "@hourly"}},
    [HEADER_TIMEOUT] = {"5s", {0}},
    [HEADER_GROUP] = {"acme", {0}},
    [HEADER_ORDERED] = {"true", {HDR_GROUP, "acme"}},
    [HEADER_TASK] = {ID, {0}},
    [HEADER_PRIORITY] = {"high", {0}},
    [HEADER_ATTEMPT] = {"3", {0}},
    [HEADER_TIMEOUTS] = {"2", {0}},
    [HEADER_GIVEN_BACK] = {"4", {0}},
    [HEADER_SUBMITTED] = {"1896080400000000001", {0}},
    [HEADER_RETRIED] = {"17", {0}},
};

static const struct {
    const char *subject;
    enum header_stage stage;
} stages[] = {
    {"ax.queue.high.email." ID, HEADER_IN_QUEUE}, {"ax.spill.high.email." ID, HEADER_IN_QUEUE},
    {"ax.later.high.email." ID, HEADER_IN_LATER}, {"ax.due.high.email." ID, HEADER_IN_LATER},
    {"ax.work.email." ID, HEADER_IN_WORK},        {"ax.dead.email." ID, HEADER_IN_DEAD},
};
#define STAGE_COUNT (sizeof(stages) / sizeof(*stages))

static const char *header_of(natsMsg *msg, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, name, &value) == NATS_OK ? value : NULL;
}

static natsMsg *message(const char *subject)
{
    natsMsg *msg = NULL;
    assert_int_equal(natsMsg_Create(&msg, subject, NULL, "body", 4), NATS_OK);
    return msg;
}

static void set(natsMsg *msg, const char *name, const char *value)
{
    assert_int_equal(natsMsgHeader_Set(msg, name, value), NATS_OK);
}

/* A submission with the sample of row i. *msg: what it borrows from. */
static void submit(struct task *t, natsMsg **msg, int i)
{
    struct problem p = {0};
    *msg = message("ax.submit.high.email");
    for (int j = 0; j < 4 && samples[i].with[j] != NULL; j += 2)
        set(*msg, samples[i].with[j], samples[i].with[j + 1]);
    set(*msg, header_table[i].name, samples[i].value);
    if (task_submit_read(t, *msg, &p) != AX_OK)
        fail_msg("%s: %s", header_table[i].name, p.text);
}

static void store(const struct task *t, const char *subject, struct task *back, natsMsg **msg)
{
    assert_int_equal(task_to_msg(t, subject, NULL, msg), AX_OK);
    assert_int_equal(task_stored_read(back, *msg, NULL), AX_OK);
}

static void every_row_has_a_sample(void **state)
{
    (void)state;
    for (int i = 0; i < HEADER_COUNT; i++) {
        if (samples[i].value == NULL)
            fail_msg("no sample of %s", header_table[i].name);
        assert_ptr_equal(header_table_find(header_table[i].name), &header_table[i]);
    }
    assert_null(header_table_find("Ax-Nothing"));
    assert_null(header_table_find("ax-key"));
}

/* Given by a producer: on each stage that carries it, and on no other, it reads as it was given. */
static void what_is_given_is_carried(void **state)
{
    (void)state;
    for (int i = 0; i < HEADER_COUNT; i++) {
        const struct header_row *row = &header_table[i];
        for (size_t j = 0; row->rule != NULL && j < STAGE_COUNT; j++) {
            struct task t, back;
            natsMsg *submitted, *stored;
            submit(&t, &submitted, i);
            store(&t, stages[j].subject, &back, &stored);
            const char *value = header_of(stored, row->name);
            if (row->carried & stages[j].stage) {
                assert_non_null(value);
                assert_string_equal(value, samples[i].value);
            } else {
                assert_null(value);
            }
            assert_int_equal(header_table_is_same(&t, &back),
                             row->carried & stages[j].stage && (!t.cron || back.cron != NULL));
            task_clear(&t);
            task_clear(&back);
            natsMsg_Destroy(submitted);
            natsMsg_Destroy(stored);
        }
    }
}

/* What AX sets, set by hand in a stored task, stays through every stage that carries it. */
static void what_ax_sets_is_carried(void **state)
{
    (void)state;
    for (int i = 0; i < HEADER_COUNT; i++) {
        const struct header_row *row = &header_table[i];
        for (size_t j = 0; row->rule == NULL && j < STAGE_COUNT; j++) {
            natsMsg *before = message(stages[j].subject), *after;
            struct task t, back;
            set(before, HDR_PRIORITY, "high"); /* for the stages whose subject has none */
            set(before, row->name, samples[i].value);
            assert_int_equal(task_stored_read(&t, before, NULL), AX_OK);
            store(&t, stages[j].subject, &back, &after);
            const char *value = header_of(after, row->name);
            if (row->carried & stages[j].stage) {
                assert_non_null(value);
                assert_string_equal(value, samples[i].value);
            } else {
                assert_null(value);
            }
            assert_string_equal(back.id, ID);
            assert_string_equal(back.priority, "high");
            task_clear(&t);
            task_clear(&back);
            natsMsg_Destroy(before);
            natsMsg_Destroy(after);
        }
    }
}

static void hand_offs_and_dead_letters_always_say_the_attempt(void **state)
{
    (void)state;
    struct task t = TASK_NONE;
    for (size_t j = 0; j < STAGE_COUNT; j++) {
        natsMsg *msg;
        assert_int_equal(task_to_msg(&t, stages[j].subject, NULL, &msg), AX_OK);
        assert_int_equal(header_of(msg, HDR_ATTEMPT) != NULL,
                         (stages[j].stage & HEADER_FOR_PEOPLE) != 0);
        natsMsg_Destroy(msg);
    }
}

/* Queue, hand-off, adoption by another dispatcher, dead letter: nothing is lost on the way. */
static void survives_adoption(void **state)
{
    (void)state;
    for (int i = 0; i < HEADER_COUNT; i++) {
        if (header_table[i].carried != HEADER_EVERYWHERE)
            continue;
        natsMsg *queued = message("ax.queue.high.email." ID), *handed, *dead;
        struct task t, adopted, letter;
        set(queued, header_table[i].name, samples[i].value);
        assert_int_equal(task_stored_read(&t, queued, NULL), AX_OK);
        store(&t, "ax.work.email." ID, &adopted, &handed);
        store(&adopted, "ax.dead.email." ID, &letter, &dead);
        assert_string_equal(header_of(dead, header_table[i].name), samples[i].value);
        assert_true(task_is_same(&t, &letter));

        natsMsg *kept;
        task_drop_content(&adopted);
        assert_null(adopted.body);
        assert_int_equal(task_to_msg(&adopted, "ax.dead.email." ID, NULL, &kept), AX_OK);
        const char *value = header_of(kept, header_table[i].name);
        if (header_table[i].form == FORM_TEXT)
            assert_null(value);
        else
            assert_string_equal(value, samples[i].value);
        task_clear(&t);
        task_clear(&letter);
        natsMsg_Destroy(queued);
        natsMsg_Destroy(handed);
        natsMsg_Destroy(dead);
        natsMsg_Destroy(kept);
    }
}

static void given_headers_are_compared(void **state)
{
    (void)state;
    for (int i = 0; i < HEADER_COUNT; i++) {
        struct task t, other;
        natsMsg *msg;
        if (header_table[i].rule == NULL)
            continue;
        submit(&t, &msg, i);
        other = t;
        assert_true(task_is_same(&t, &other));
        size_t bytes = header_table[i].form == FORM_TEXT      ? sizeof(char *)
                       : header_table[i].form == FORM_BOOL    ? sizeof(bool)
                       : header_table[i].form == FORM_INT32   ? sizeof(int32_t)
                       : header_table[i].form == FORM_OVERLAP ? sizeof(enum task_overlap)
                                                              : sizeof(int64_t);
        struct task none = TASK_NONE;
        memcpy((char *)&other + header_table[i].offset, (char *)&none + header_table[i].offset,
               bytes);
        assert_false(task_is_same(&t, &other));
        natsMsg_Destroy(msg);
    }
}

static void the_rest_of_a_task_is_compared(void **state)
{
    (void)state;
    struct task_header one[] = {{"A", "1"}, {"B", "2"}}, turned[] = {{"B", "2"}, {"A", "1"}},
                       other[] = {{"A", "1"}, {"B", "3"}};
    struct task a = TASK_NONE, b;
    strcpy(a.priority, "high");
    a.body = "body";
    a.body_bytes = 4;
    a.headers = one;
    a.header_count = 2;
    b = a;
    b.headers = turned;
    assert_true(task_is_same(&a, &b));
    b.headers = other;
    assert_false(task_is_same(&a, &b));
    b.headers = one;
    b.header_count = 1;
    assert_false(task_is_same(&a, &b));
    b = a;
    b.body = "BODY";
    assert_false(task_is_same(&a, &b));
    b = a;
    strcpy(b.priority, "low");
    assert_false(task_is_same(&a, &b));
    /* what AX has set since is no other task, nor is the default, spelt out */
    b = a;
    b.attempt = 5;
    b.submitted = 7;
    b.overlap = TASK_OVERLAP_SKIP;
    assert_true(task_is_same(&a, &b));
}

/* ---- the protobuf form ---- */

static void put(Ax__V1__Task *m, const char *member, const char *value)
{
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
        &ax__v1__task__descriptor, member);
    assert_non_null(f);
    void *at = (char *)m + f->offset;
    if (f->type == PROTOBUF_C_TYPE_STRING)
        *(char **)at = (char *)value;
    else if (f->type == PROTOBUF_C_TYPE_BOOL)
        *(protobuf_c_boolean *)at = strcmp(value, "true") == 0;
    else
        *(uint32_t *)at = (uint32_t)strtoul(value, NULL, 10);
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        *(uint32_t *)((char *)m + f->quantifier_offset) = f->id;
}

static void both_forms_say_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < HEADER_COUNT; i++) {
        struct task t, typed;
        struct problem p = {0};
        natsMsg *msg;
        void *unpacked;
        uint8_t buf[1024];
        if (header_table[i].rule == NULL)
            continue;
        submit(&t, &msg, i);
        Ax__V1__Task m = AX__V1__TASK__INIT;
        m.body = (ProtobufCBinaryData){4, (uint8_t *)"body"};
        for (int j = 0; j < 4 && samples[i].with[j] != NULL; j += 2) {
            put(&m, header_table_find(samples[i].with[j])->member, samples[i].with[j + 1]);
        }
        put(&m, header_table[i].member, samples[i].value);
        size_t bytes = ax__v1__task__pack(&m, buf);
        if (task_proto_read(&typed, "ax.submit.high.email", buf, bytes, &unpacked, &p) != AX_OK)
            fail_msg("%s: %s", header_table[i].member, p.text);
        assert_true(task_is_same(&t, &typed));
        task_clear(&typed);
        task_proto_free(unpacked);
        natsMsg_Destroy(msg);
    }
}

static void every_field_of_the_schema_has_a_row(void **state)
{
    (void)state;
    static const char *const others[] = {"body", "priority", "pool", "headers"};
    for (unsigned i = 0; i < ax__v1__task__descriptor.n_fields; i++) {
        const char *name = ax__v1__task__descriptor.fields[i].name;
        bool found = false;
        for (size_t j = 0; j < sizeof(others) / sizeof(*others); j++)
            found = found || strcmp(name, others[j]) == 0;
        for (int j = 0; j < HEADER_COUNT; j++) {
            found = found ||
                    (header_table[j].member != NULL && strcmp(name, header_table[j].member) == 0);
        }
        if (!found)
            fail_msg("field %s of ax.v1.Task has no row in the table of headers", name);
    }
}

static int open_library(void **state)
{
    (void)state;
    return nats_Open(-1) == NATS_OK ? 0 : -1;
}

static int close_library(void **state)
{
    (void)state;
    nats_Close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_sample),
        cmocka_unit_test(what_is_given_is_carried),
        cmocka_unit_test(what_ax_sets_is_carried),
        cmocka_unit_test(hand_offs_and_dead_letters_always_say_the_attempt),
        cmocka_unit_test(survives_adoption),
        cmocka_unit_test(given_headers_are_compared),
        cmocka_unit_test(the_rest_of_a_task_is_compared),
        cmocka_unit_test(both_forms_say_the_same),
        cmocka_unit_test(every_field_of_the_schema_has_a_row),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
