/* The protobuf forms: the first byte chooses ax.v1.Task, ax.v1.TaskBatch, the idempotency record,
 * or what AX_LEASES holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "done/record.h"
#include "open_nats.h"
#include "task/peer/lease.h"
#include "task/peer/presence.h"
#include "task/task.h"
#include "task/task_proto.h"

static void check_accepted(const struct task *t)
{
    CHECK(name_is_valid(t->priority) && name_is_valid(t->pool) && name_is_task_id(t->id));
    CHECK(!t->key || (strlen(t->key) >= 1 && strlen(t->key) <= KEY_MAX_BYTES));
    CHECK(t->header_count <= TASK_HEADERS_MAX);
    for (size_t i = 0; i < t->header_count; i++) {
        CHECK(*t->headers[i].name && !strpbrk(t->headers[i].name, "\r\n: "));
        CHECK(*t->headers[i].value && !strpbrk(t->headers[i].value, "\r\n"));
    }
    natsMsg *msg = NULL;
    CHECK(task_to_msg(t, "ax.work.a.b", NULL, &msg) == AX_OK);
    natsMsg_Destroy(msg);
}

static void try_task(const char *subject, const uint8_t *data, size_t size)
{
    struct task t;
    struct problem p = {0};
    void *unpacked = NULL;
    if (task_proto_read(&t, subject, data, size, &unpacked, &p) == AX_OK) {
        check_accepted(&t);
        CHECK(strcmp(subject, SUBMIT_ANY) == 0 ||
              (strcmp(t.priority, "high") == 0 && strcmp(t.pool, "email") == 0));
        task_clear(&t);
    } else {
        CHECK(p.text[0] && !unpacked);
    }
    task_proto_free(unpacked);
}

static void try_batch(const uint8_t *data, size_t size)
{
    struct problem p = {0};
    void *batch = NULL;
    size_t count = 0, weighed = 0;
    CHECK(task_proto_weigh_batch(data, size, &weighed) >= 4 * size && weighed <= size);
    if (task_proto_unpack_batch(data, size, &batch, &count, &p) != AX_OK) {
        CHECK(p.text[0] && !batch);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct task t;
        if (task_proto_read_nth(&t, "ax.submit.high.email", batch, i, &p) == AX_OK) {
            check_accepted(&t);
            task_clear(&t);
        }
    }
    task_proto_free_batch(batch);
}

static void try_record(const uint8_t *data, size_t size)
{
    struct record r;
    if (record_unpack(&r, data, size) == AX_OK) {
        uint8_t buf[RECORD_MAX_BYTES];
        struct record back;
        size_t n = record_pack(&r, buf, sizeof(buf));
        CHECK(n > 0 && record_unpack(&back, buf, n) == AX_OK);
        CHECK(back.state == r.state && back.fence == r.fence && strcmp(back.pool, r.pool) == 0);
    }
}

static void try_lease(const uint8_t *data, size_t size)
{
    struct lease l, back;
    struct presence p, again;
    uint8_t buf[LEASE_MAX_BYTES];
    if (lease_unpack(&l, data, size) == AX_OK) {
        size_t n = lease_pack(&l, buf);
        CHECK(n <= sizeof(buf) && lease_unpack(&back, buf, n) == AX_OK);
        CHECK(strcmp(back.holder, l.holder) == 0 && strcmp(back.pool, l.pool) == 0 &&
              back.epoch == l.epoch);
    }
    if (presence_unpack(&p, data, size) == AX_OK) {
        size_t n = presence_pack(&p, buf);
        CHECK(n <= sizeof(buf) && presence_unpack(&again, buf, n) == AX_OK);
        CHECK(strcmp(again.name, p.name) == 0 && again.leads == p.leads &&
              again.leaving == p.leaving);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    switch (data[0] % 4) {
    case 0:
        try_task("ax.submit.high.email", data + 1, size - 1);
        try_task(SUBMIT_ANY, data + 1, size - 1);
        break;
    case 1:
        try_batch(data + 1, size - 1);
        break;
    case 2:
        try_lease(data + 1, size - 1);
        break;
    default:
        try_record(data + 1, size - 1);
        break;
    }
    return 0;
}
