/* The headers form of a submission: the first byte says whether nats.c has parsed the headers
 * before us, then the header block's lines without the version line; an empty line ends it, the
 * rest is the body. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../raw_message.h"
#include "check.h"
#include "open_nats.h"
#include "task/task.h"
#include "task/task_stored.h"
#include "task/task_submit.h"

/* What is accepted must come back the same from what is stored. */
static void check_round_trip(const struct task *t)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject(subject, "queue", t->priority, t->pool, t->id);
    natsMsg *stored = NULL;
    struct task back;
    CHECK(task_to_msg(t, subject, NULL, &stored) == AX_OK);
    CHECK(task_stored_read(&back, stored, NULL) == AX_OK);
    CHECK(!t->key == !back.key && (!t->key || strcmp(t->key, back.key) == 0));
    CHECK(strcmp(t->id, back.id) == 0);
    CHECK(t->max_retry == back.max_retry && t->backoff_ms == back.backoff_ms &&
          t->expires_ns == back.expires_ns);
    CHECK(t->header_count == back.header_count);
    CHECK(t->body_bytes == back.body_bytes);
    task_clear(&back);
    natsMsg_Destroy(stored);
}

static void check_accepted(const struct task *t)
{
    CHECK(t->header_count <= TASK_HEADERS_MAX);
    CHECK(!t->key || (strlen(t->key) >= 1 && strlen(t->key) <= KEY_MAX_BYTES));
    for (size_t i = 0; i < t->header_count; i++) {
        CHECK(*t->headers[i].name && *t->headers[i].value);
        CHECK(!strpbrk(t->headers[i].name, "\r\n: ") && !strpbrk(t->headers[i].value, "\r\n"));
        CHECK(strncasecmp(t->headers[i].name, "nats-", 5) != 0 &&
              strncasecmp(t->headers[i].name, "ax-", 3) != 0);
    }
    check_round_trip(t);
}

static natsMsg *make(const char *subject, const uint8_t *data, size_t size)
{
    static const char version[] = "NATS/1.0\r\n";
    const uint8_t *end = memmem(data, size, "\r\n\r\n", 4);
    size_t lines = end ? (size_t)(end + 4 - data) : size;
    char *block = malloc(sizeof(version) + lines + 4);
    CHECK(block);
    size_t n = sizeof(version) - 1;
    memcpy(block, version, n);
    memcpy(block + n, data, lines);
    n += lines;
    if (!end) {
        memcpy(block + n, "\r\n\r\n", 4);
        n += 4;
    }
    natsMsg *msg = raw_message_make(subject, block, n, data + lines, size - lines);
    free(block);
    return msg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    natsMsg *msg = make("ax.submit.high.email", data + 1, size - 1);
    if (!msg) {
        return 0;
    }
    if (data[0] & 1) {
        const char *value;
        natsMsgHeader_Get(msg, HDR_SCHEMA, &value);
    }
    struct task t;
    struct problem p = {0};
    ax_err err = task_submit_read(&t, msg, &p);
    CHECK(err == AX_OK || (err == AX_E_INVALID && p.text[0]));
    if (err == AX_OK) {
        check_accepted(&t);
        task_clear(&t);
    }
    CHECK(task_stored_read_at(&t, "ax.due.high.email.abc", msg, NULL) == AX_OK);
    task_clear(&t);
    (void)task_submit_check_proto(msg, &p);
    natsMsg_Destroy(msg);
    return 0;
}
