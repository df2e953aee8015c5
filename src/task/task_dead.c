#include "task/task_dead.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text/rfc3339.h"
#include "base/text/safe_text.h"
#include "task/header.h"
#include "task/names.h"
#include "task/task_stored.h"

/* Reason, time, expected sequence and the frame around them, at their longest. */
#define OWN_HEADERS_BYTES 1024
#define MARK_MAX 96

static size_t headers_bytes(natsMsg *msg)
{
    const char **keys = NULL;
    int count = 0;
    size_t bytes = 0;
    if (natsMsgHeader_Keys(msg, &keys, &count) != NATS_OK)
        return 0;
    for (int i = 0; i < count; i++) {
        const char **values = NULL;
        int n = 0;
        if (natsMsgHeader_Values(msg, keys[i], &values, &n) != NATS_OK)
            continue;
        for (int v = 0; v < n; v++)
            bytes += strlen(keys[i]) + strlen(values[v]) + 4;
        free((void *)values);
    }
    free((void *)keys);
    return bytes;
}

/* Some clients take a newline within a name for the end of a header, and what follows for the next
 * one; a message without body that has a Status for one of the server's. */
static bool is_copied(const char *name, bool has_body)
{
    return safe_text_is_plain(name, strlen(name)) && strncasecmp(name, "Nats-", 5) != 0 &&
           (has_body || strcasecmp(name, "Status") != 0) && strcasecmp(name, HDR_REASON) != 0 &&
           strcasecmp(name, HDR_DIED) != 0 && strcasecmp(name, HDR_TASK) != 0 &&
           strcasecmp(name, HDR_LEASE) != 0;
}

static natsStatus copy_headers(natsMsg *from, natsMsg *to)
{
    const char **keys = NULL;
    int count = 0;
    natsStatus s = NATS_OK;
    if (natsMsgHeader_Keys(from, &keys, &count) != NATS_OK)
        return NATS_OK;
    for (int i = 0; i < count && s == NATS_OK; i++) {
        const char **values = NULL;
        int n = 0;
        if (!is_copied(keys[i], natsMsg_GetDataLength(to) > 0) ||
            natsMsgHeader_Values(from, keys[i], &values, &n) != NATS_OK)
            continue;
        for (int v = 0; v < n && s == NATS_OK; v++)
            s = natsMsgHeader_Add(to, keys[i], values[v]);
        free((void *)values);
    }
    free((void *)keys);
    return s;
}

/* What was not read has no key, but people look for it by that. */
static natsStatus copy_key(natsMsg *from, natsMsg *to)
{
    const char *key = NULL, *other = NULL;
    if (natsMsgHeader_Get(to, HDR_KEY, &other) == NATS_OK ||
        natsMsgHeader_Get(from, HDR_MSG_ID, &key) != NATS_OK || *key == '\0')
        return NATS_OK;
    return header_set(to, HDR_KEY, key);
}

static natsStatus build(const struct task *task, natsMsg *from, const char *subject,
                        const char *reply, const char *id, int64_t max_bytes, natsMsg **out)
{
    int64_t room = max_bytes > OWN_HEADERS_BYTES ? max_bytes - OWN_HEADERS_BYTES : 0;
    const char *body = from != NULL ? natsMsg_GetData(from) : task->body;
    int64_t bytes = from != NULL ? natsMsg_GetDataLength(from) : (int64_t)task->body_bytes;
    int64_t headers = from != NULL ? (int64_t)headers_bytes(from) : 0;
    bool with_headers = from != NULL && headers + bytes <= room &&
                        headers <= TASK_HEADERS_MAX_BYTES - OWN_HEADERS_BYTES;
    if (bytes > room)
        bytes = room;
    natsStatus s = natsMsg_Create(out, subject, reply, body, (int)bytes);
    if (s == NATS_OK && with_headers)
        s = copy_headers(from, *out);
    if (s == NATS_OK && with_headers)
        s = copy_key(from, *out);
    if (s == NATS_OK)
        s = header_set(*out, HDR_TASK, id);
    if (s == NATS_OK && task->priority[0] != '\0')
        s = header_set(*out, HDR_PRIORITY, task->priority);
    return s;
}

ax_err task_dead_to_msg(const struct task *task, natsMsg *submitted, const char *reply,
                        const char *reason, int64_t died_ns, int64_t max_payload_bytes,
                        natsMsg **out)
{
    char subject[SUBJECT_MAX_CHARS], id[TASK_ID_CHARS + 1], died[32], line[512];
    const char *pool = DEFAULT_POOL;
    struct problem p;
    natsStatus s = NATS_OK;
    *out = NULL;
    if (task->id[0] != '\0')
        snprintf(id, sizeof(id), "%s", task->id);
    else
        name_new_id(id);
    if (task->pool[0] != '\0')
        pool = task->pool;
    name_subject_dead(subject, pool, id);
    if (task->id[0] != '\0' && task_check_size(task, max_payload_bytes, &p) == AX_OK) {
        if (task_to_msg(task, subject, reply, out) != AX_OK)
            return AX_E_NOMEM;
    } else {
        s = build(task, submitted, subject, reply, id, max_payload_bytes, out);
    }
    size_t n = 0;
    for (; reason[n] != '\0' && n < sizeof(line) - 1; n++)
        line[n] = (unsigned char)reason[n] < 0x20 ? ' ' : reason[n];
    line[n] = '\0';
    if (s == NATS_OK)
        s = header_set(*out, HDR_REASON, line);
    if (s == NATS_OK && died_ns > 0)
        s = header_set(*out, HDR_DIED, rfc3339_format(died_ns, died));
    if (s != NATS_OK) {
        natsMsg_Destroy(*out);
        *out = NULL;
        return AX_E_NOMEM;
    }
    return AX_OK;
}

/* "ax.<stage>.<priority>.<pool>.…" of which as much as is valid is taken over. */
static void take_names(struct task *t, const char *subject)
{
    const char *tokens[4] = {subject};
    int n = 1;
    for (const char *at = subject; n < 4 && (at = strchr(at, '.')) != NULL; n++)
        tokens[n] = ++at;
    char *const names[] = {NULL, NULL, t->priority, t->pool};
    for (int i = 2; i < n; i++) {
        size_t bytes = strcspn(tokens[i], ".");
        if (name_is_valid_n(tokens[i], bytes))
            snprintf(names[i], NAME_MAX_CHARS + 1, "%.*s", (int)bytes, tokens[i]);
    }
}

/* What it holds; where that is no task, its body under an id of its own. mark: the message id. */
static ax_err read_source(struct task *t, const struct task_dead_source *from, char mark[MARK_MAX])
{
    char place[128];
    struct problem p;
    ax_err err = task_stored_read_at(t, from->subject, from->msg, &p);
    if (err == AX_OK) {
        snprintf(mark, MARK_MAX, "%s.%" PRId64 ".%u.swept", t->id, t->submitted, t->attempt);
        return AX_OK;
    }
    if (err != AX_E_INVALID)
        return err;
    task_init(t);
    take_names(t, from->subject);
    int n = snprintf(place, sizeof(place), "%s %" PRIu64 " %" PRId64, from->stream, from->seq,
                     from->time_ns);
    name_task_id("", place, (size_t)n, t->id);
    t->body = natsMsg_GetData(from->msg);
    t->body_bytes = (size_t)natsMsg_GetDataLength(from->msg);
    snprintf(mark, MARK_MAX, "%s.swept", t->id);
    return AX_OK;
}

ax_err task_dead_of_stored(const struct task_dead_source *from, const char *reply,
                           const char *reason, int64_t died_ns, int64_t max_payload_bytes,
                           natsMsg **out)
{
    struct task t = {0};
    char mark[MARK_MAX];
    *out = NULL;
    ax_err err = read_source(&t, from, mark);
    if (err == AX_OK)
        err = task_dead_to_msg(&t, from->msg, reply, reason, died_ns, max_payload_bytes, out);
    if (err == AX_OK && header_set(*out, HDR_MSG_ID, mark) != NATS_OK) {
        natsMsg_Destroy(*out);
        *out = NULL;
        err = AX_E_NOMEM;
    }
    task_clear(&t);
    return err;
}
