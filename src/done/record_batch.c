#include "done/record_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ax/v1/record.pb-c.h"

#define WRITER_DIGITS 16
#define NUMBER_DIGITS 8

/* Every process that listens unpacks a batch for every 64 tasks. So protobuf-c allocates within one
 * block, which goes with the call. A message that needs more than a full batch does is refused. */
struct arena {
    size_t used;
    _Alignas(max_align_t) uint8_t bytes[RECORD_BATCH_ENTRIES_MAX * 256];
};

static void *arena_alloc(void *data, size_t size)
{
    struct arena *a = data;
    size_t at = (a->used + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) *
                _Alignof(max_align_t);
    if (size > sizeof(a->bytes) - at || at > sizeof(a->bytes))
        return NULL;
    a->used = at + size;
    return a->bytes + at;
}

static void arena_free(void *data, void *pointer)
{
    (void)data;
    (void)pointer;
}

size_t record_batch_pack(const struct record_batch *b, uint8_t buf[RECORD_BATCH_MAX_BYTES])
{
    Ax__V1__RecordPage m = AX__V1__RECORD_PAGE__INIT;
    Ax__V1__RecordPage__Entry entries[RECORD_BATCH_ENTRIES_MAX], *list[RECORD_BATCH_ENTRIES_MAX];
    for (int i = 0; i < b->count; i++) {
        entries[i] = (Ax__V1__RecordPage__Entry)AX__V1__RECORD_PAGE__ENTRY__INIT;
        entries[i].task = (char *)b->entries[i].task;
        entries[i].attempt = b->entries[i].attempt;
        entries[i].fence = b->entries[i].fence;
        entries[i].finished_ns = b->entries[i].finished_ns;
        entries[i].submitted = b->entries[i].submitted;
        list[i] = &entries[i];
    }
    m.pool = (char *)b->pool;
    m.n_entries = (size_t)b->count;
    m.entries = list;
    return ax__v1__record_page__pack(&m, buf);
}

static bool take_entry(struct record_batch *b, const Ax__V1__RecordPage__Entry *e)
{
    if (!name_is_task_id(e->task))
        return false;
    struct record_batch_entry *out = &b->entries[b->count++];
    strcpy(out->task, e->task);
    out->attempt = e->attempt;
    out->fence = e->fence;
    out->finished_ns = e->finished_ns;
    out->submitted = e->submitted;
    return true;
}

ax_err record_batch_unpack(struct record_batch *b, const void *data, size_t bytes)
{
    struct arena arena;
    ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};
    arena.used = 0;
    b->count = 0;
    if (bytes == 0)
        return AX_E_NOT_FOUND;
    const Ax__V1__RecordPage *m = ax__v1__record_page__unpack(&allocator, bytes, data);
    if (m == NULL || !name_is_valid(m->pool) || m->n_entries == 0 ||
        m->n_entries > RECORD_BATCH_ENTRIES_MAX)
        return AX_E_PROTOCOL;
    strcpy(b->pool, m->pool);
    for (size_t i = 0; i < m->n_entries; i++) {
        if (!take_entry(b, m->entries[i]))
            return AX_E_PROTOCOL;
    }
    return AX_OK;
}

bool record_batch_find(const struct record_batch *b, const char *id, struct record *out)
{
    for (int i = 0; i < b->count; i++) {
        const struct record_batch_entry *e = &b->entries[i];
        if (strcmp(e->task, id) != 0)
            continue;
        *out = (struct record){.state = RECORD_DONE,
                               .attempt = e->attempt,
                               .fence = e->fence,
                               .finished_ns = e->finished_ns,
                               .submitted = e->submitted};
        strcpy(out->pool, b->pool);
        return true;
    }
    return false;
}

size_t record_batch_subject(char *out, const struct record_batch_name *name)
{
    return (size_t)snprintf(
        out, SUBJECT_MAX_CHARS, RECORD_BATCH_PREFIX "%" PRIu32 "-%0*" PRIx64 "%0*" PRIx32,
        name->entries, WRITER_DIGITS, name->writer, NUMBER_DIGITS, name->number);
}

static bool take_hex(const char **s, int digits, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++) {
        char c = (*s)[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        *out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *s += digits;
    return true;
}

bool record_batch_parse_subject(const char *subject, struct record_batch_name *out)
{
    const char *s = subject + sizeof(RECORD_BATCH_PREFIX) - 1;
    uint64_t number;
    uint32_t entries = 0;
    if (strncmp(subject, RECORD_BATCH_PREFIX, sizeof(RECORD_BATCH_PREFIX) - 1) != 0 || *s < '1' ||
        *s > '9')
        return false;
    for (; *s >= '0' && *s <= '9' && entries <= RECORD_BATCH_ENTRIES_MAX; s++)
        entries = entries * 10 + (uint32_t)(*s - '0');
    if (entries > RECORD_BATCH_ENTRIES_MAX || *s++ != '-' ||
        !take_hex(&s, WRITER_DIGITS, &out->writer) || !take_hex(&s, NUMBER_DIGITS, &number) ||
        *s != '\0')
        return false;
    out->number = (uint32_t)number;
    out->entries = entries;
    return true;
}
