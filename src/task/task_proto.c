#include "task/task_proto.h"

#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ax/v1/task.pb-c.h"
#include "base/text/quote.h"
#include "task/header.h"
#include "task/header_table.h"
#include "task/task_rule.h"

/* protobuf-c gives strings without their length: a string with a NUL byte in it looks merely
 * short, and two different keys look alike. protobuf-c allocates each string as a block of its
 * own, as long as the string and its NUL, so this allocator writes down each length. It also
 * bounds the memory that a small message can take. */
struct block {
    size_t bytes;
    max_align_t data[];
};

static struct block *block_of(const void *data)
{
    return (struct block *)((char *)data - offsetof(struct block, data));
}

struct budget {
    size_t bytes;
    bool no_memory;
};

static void *block_alloc(void *budget, size_t bytes)
{
    struct budget *left = budget;
    if (bytes > left->bytes)
        return NULL;
    struct block *b = malloc(sizeof(*b) + bytes);
    if (b == NULL) {
        left->no_memory = true;
        return NULL;
    }
    left->bytes -= bytes;
    b->bytes = bytes;
    return b->data;
}

static void block_free(void *budget, void *data)
{
    (void)budget;
    if (data)
        free(block_of(data));
}

static ax_err unpack(void **out, const ProtobufCMessageDescriptor *type, const void *data,
                     size_t bytes, struct problem *p)
{
    struct budget budget = {.bytes = (1 << 20) + 24 * bytes};
    ProtobufCAllocator allocator = {block_alloc, block_free, &budget};
    static const uint8_t nothing[1];
    *out = protobuf_c_message_unpack(type, &allocator, bytes, bytes ? data : nothing);
    if (*out == NULL && budget.no_memory)
        return problem_set(p, AX_E_NOMEM, "out of memory");
    if (*out == NULL) {
        return problem_set(p, AX_E_INVALID,
                           "body: its %zu bytes are not an %s message, which %s announces", bytes,
                           type->name, HDR_SCHEMA);
    }
    return AX_OK;
}

static void release(void *m)
{
    if (m) {
        ProtobufCAllocator allocator = {block_alloc, block_free, NULL};
        protobuf_c_message_free_unpacked(m, &allocator);
    }
}

static bool holds_nul(const char *s)
{
    return s != protobuf_c_empty_string && strlen(s) + 1 != block_of(s)->bytes;
}

static ax_err refuse_nul(const char *field, struct problem *p)
{
    return problem_set(p, AX_E_INVALID, "%s: holds a NUL byte, which is not allowed", field);
}

/* What the subject names. A right to publish is given by subject, so the body must not name another
 * priority or pool: only SUBMIT_ANY, which names none, leaves them to it. */
static ax_err read_subject(struct task *t, const char *subject, struct problem *p)
{
    if (strcmp(subject, SUBMIT_ANY) != 0)
        return name_parse_submit(subject, t->priority, t->pool, p);
    strcpy(t->pool, DEFAULT_POOL);
    return AX_OK;
}

/* out: what the subject says; free: the body may say otherwise. */
static ax_err take_name(char *out, bool free, const char *field, const char *value,
                        struct problem *p)
{
    char quoted[QUOTE_MAX];
    if (holds_nul(value))
        return refuse_nul(field, p);
    if (!*value)
        return AX_OK;
    if (!name_is_valid(value)) {
        return problem_set(p, AX_E_INVALID,
                           "%s: %s is not allowed; it must have 1 to %d of A-Z a-z 0-9 _ -", field,
                           quote_text(value, quoted), NAME_MAX_CHARS);
    }
    if (!free && strcmp(out, value) != 0) {
        return problem_set(p, AX_E_INVALID,
                           "%s: %s is not allowed; it must be %s, as in the subject, or left out "
                           "(tasks that name their own go to " SUBMIT_ANY ")",
                           field, quote_text(value, quoted), out);
    }
    strcpy(out, value);
    return AX_OK;
}

static ax_err take_names(struct task *t, const char *subject, const Ax__V1__Task *m,
                         struct problem *p)
{
    ax_err err = read_subject(t, subject, p);
    bool free = strcmp(subject, SUBMIT_ANY) == 0;
    if (err == AX_OK)
        err = take_name(t->priority, free, "priority", m->priority, p);
    if (err == AX_OK)
        err = take_name(t->pool, free, "pool", m->pool, p);
    if (err == AX_OK && t->priority[0] == '\0') {
        err = problem_set(p, AX_E_INVALID,
                          "priority: not given; a task that comes on " SUBMIT_ANY
                          " must name its own");
    }
    return err;
}

/* The fields of ax.v1.Task that the table knows, and their kinds. */
enum proto_kind { PROTO_TEXT, PROTO_BOOL, PROTO_COUNT };
static const struct proto_field {
    enum proto_kind kind;
    size_t offset;
    const struct header_row *row;
} proto_fields[] = {
#define GIVEN(id, member, ...)             \
    {_Generic(((Ax__V1__Task *)0)->member, \
         char *: PROTO_TEXT,               \
         protobuf_c_boolean: PROTO_BOOL,   \
         uint32_t: PROTO_COUNT),           \
     offsetof(Ax__V1__Task, member), &header_table[HEADER_##id]},
#define OWN(...)
    HEADER_TABLE(GIVEN, OWN)
#undef GIVEN
#undef OWN
};
#define PROTO_FIELD_COUNT (sizeof(proto_fields) / sizeof(*proto_fields))

/* A number stands in a oneof of its own, whose case says whether it is given. */
static bool is_given(const Ax__V1__Task *m, const struct header_row *row)
{
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
        &ax__v1__task__descriptor, row->member);
    return *(const uint32_t *)((const char *)m + f->quantifier_offset) == f->id;
}

static ax_err take_field(struct task *t, const Ax__V1__Task *m, const struct proto_field *f,
                         struct problem *p)
{
    const void *at = (const char *)m + f->offset;
    char count[16];
    const char *value = "";
    switch (f->kind) {
    case PROTO_TEXT:
        value = *(const char *const *)at;
        if (holds_nul(value))
            return refuse_nul(f->row->member, p);
        break;
    case PROTO_BOOL:
        value = *(const protobuf_c_boolean *)at ? "true" : "";
        break;
    case PROTO_COUNT:
        if (is_given(m, f->row)) {
            snprintf(count, sizeof(count), "%u", *(const uint32_t *)at);
            value = count;
        }
        break;
    }
    return *value != '\0' ? f->row->rule(t, f->row->member, value, p) : AX_OK;
}

static ax_err take_fields(struct task *t, const Ax__V1__Task *m, struct problem *p)
{
    ax_err err = AX_OK;
    for (size_t i = 0; err == AX_OK && i < PROTO_FIELD_COUNT; i++)
        err = take_field(t, m, &proto_fields[i], p);
    return err;
}

/* A map's key given twice on the wire: the last one counts. */
static bool comes_again(const Ax__V1__Task *m, size_t i)
{
    for (size_t j = i + 1; j < m->n_headers; j++) {
        if (strcmp(m->headers[i]->key, m->headers[j]->key) == 0)
            return true;
    }
    return false;
}

static ax_err take_headers(struct task *t, const Ax__V1__Task *m, struct problem *p)
{
    if (m->n_headers > TASK_HEADERS_MAX) {
        return problem_set(p, AX_E_INVALID,
                           "headers: %zu entries are not allowed; at most %d are passed through",
                           m->n_headers, TASK_HEADERS_MAX);
    }
    ax_err err = AX_OK;
    for (size_t i = 0; err == AX_OK && i < m->n_headers; i++) {
        const char *name = m->headers[i]->key;
        const char *value = m->headers[i]->value;
        char quoted[QUOTE_MAX];
        if (holds_nul(name) || holds_nul(value)) {
            return problem_set(p, AX_E_INVALID,
                               "headers entry %s: holds a NUL byte, which is not allowed",
                               quote_text(name, quoted));
        }
        if (header_is_ax(name)) {
            return problem_set(p, AX_E_INVALID,
                               "headers entry %s: not allowed; in the protobuf form AX's own "
                               "fields are those of the "
                               "message",
                               quote_text(name, quoted));
        }
        if (strcasecmp(name, HDR_MSG_ID) == 0) {
            /* Dropped as other Nats-* headers are, it would lose the key silently. */
            return problem_set(p, AX_E_INVALID,
                               "headers entry %s: not allowed; the field key says it", name);
        }
        if (!header_is_nats(name) && !comes_again(m, i))
            err = task_rule_pass(t, "headers entry", name, value, p);
    }
    return err;
}

static ax_err take(struct task *t, const char *subject, const Ax__V1__Task *m, struct problem *p)
{
    task_init(t);
    t->body = m->body.data;
    t->body_bytes = m->body.len;
    ax_err err = take_names(t, subject, m, p);
    if (err == AX_OK)
        err = take_fields(t, m, p);
    if (err == AX_OK)
        err = take_headers(t, m, p);
    if (err == AX_OK)
        err = task_rule_together(t, true, p);
    if (err != AX_OK) {
        task_clear(t);
        return err;
    }
    task_give_id(t);
    return AX_OK;
}

ax_err task_proto_read(struct task *t, const char *subject, const void *data, size_t bytes,
                       void **unpacked, struct problem *p)
{
    ax_err err = unpack(unpacked, &ax__v1__task__descriptor, data, bytes, p);
    if (err != AX_OK)
        return err;
    err = take(t, subject, *unpacked, p);
    if (err != AX_OK) {
        release(*unpacked);
        *unpacked = NULL;
    }
    return err;
}

void task_proto_free(void *unpacked)
{
    release(unpacked);
}

ax_err task_proto_unpack_batch(const void *data, size_t bytes, void **batch, size_t *count,
                               struct problem *p)
{
    *count = 0;
    ax_err err = unpack(batch, &ax__v1__task_batch__descriptor, data, bytes, p);
    if (err != AX_OK)
        return err;
    Ax__V1__TaskBatch *m = *batch;
    if (m->n_tasks < 1 || m->n_tasks > TASK_BATCH_MAX) {
        problem_set(p, AX_E_INVALID,
                    "tasks: a batch of %zu is not allowed; it must have 1 to %d tasks", m->n_tasks,
                    TASK_BATCH_MAX);
        release(m);
        *batch = NULL;
        return AX_E_INVALID;
    }
    *count = m->n_tasks;
    return AX_OK;
}

/* A base-128 varint; the number of its bytes, 0 if it is none. */
static size_t read_varint(const uint8_t *data, size_t bytes, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < bytes && i < 10; i++) {
        *out |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (data[i] < 0x80)
            return i + 1;
    }
    return 0;
}

/* One field of any wire type; its bytes, 0 if it cannot be read. */
static size_t field_bytes(const uint8_t *data, size_t bytes)
{
    uint64_t tag, value = 0;
    size_t n = read_varint(data, bytes, &tag), m = 0;
    if (n == 0)
        return 0;
    if (tag % 8 == 0)
        return (m = read_varint(data + n, bytes - n, &value)) == 0 ? 0 : n + m;
    if (tag % 8 == 2 && (m = read_varint(data + n, bytes - n, &value)) == 0)
        return 0;
    value = tag % 8 == 1 ? 8 : tag % 8 == 5 ? 4 : value;
    return tag % 8 != 2 && value == 0 ? 0 : value > bytes - n - m ? 0 : n + m + (size_t)value;
}

size_t task_proto_weigh_batch(const void *data, size_t bytes, size_t *count)
{
    const uint8_t *at = data;
    size_t left = bytes, n;
    for (*count = 0; left > 0 && (n = field_bytes(at, left)) > 0; (*count)++) {
        at += n;
        left -= n;
    }
    /* A header of a task is two bytes when packed, and a structure with two strings then. */
    return *count * (sizeof(Ax__V1__Task) + 4 * sizeof(struct block)) + 4 * bytes;
}

ax_err task_proto_read_nth(struct task *t, const char *subject, const void *batch, size_t index,
                           struct problem *p)
{
    const Ax__V1__TaskBatch *m = batch;
    return take(t, subject, m->tasks[index], p);
}

void task_proto_free_batch(void *batch)
{
    release(batch);
}
