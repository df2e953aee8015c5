#include "done/idset.h"

#include <stdlib.h>

#include "done/fingerprint.h"

#define SLOTS_MIN 64
/* Linear probing. The table grows at half full, so that a look-up reads one or two cache lines. It
 * fills up further when memory for a larger one is refused. It shrinks below an eighth, far enough
 * from a half that growing and shrinking do not take turns. */
#define GROW_AT(slots) ((slots) / 2)
#define FULL_AT(slots) ((slots) / 8 * 7)
#define SHRINK_AT(slots) ((slots) / 8)

struct slot {
    uint64_t fingerprint; /* 0: empty */
    uint32_t expires_s;
    uint32_t unused;
};

struct idset {
    struct slot *slots;
    size_t size; /* a power of two */
    size_t count;
    uint64_t seed;
};

/* The slot of fp, or the empty one where it would go. */
static size_t find(const struct slot *slots, size_t size, uint64_t fp)
{
    size_t at = fp & (size - 1);
    while (slots[at].fingerprint != 0 && slots[at].fingerprint != fp) {
        at = (at + 1) & (size - 1);
    }
    return at;
}

/* Moves all into a table of size slots. False: there is no memory, and nothing has changed. */
static bool resize(struct idset *s, size_t size)
{
    struct slot *slots = calloc(size, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < s->size; i++) {
        const struct slot *from = &s->slots[i];
        if (from->fingerprint != 0) {
            slots[find(slots, size, from->fingerprint)] = *from;
        }
    }
    free(s->slots);
    s->slots = slots;
    s->size = size;
    return true;
}

/* Empties a slot and moves those behind it up, so that no tombstone is left (Knuth, The Art of
 * Computer Programming, 6.4, algorithm R). */
static void clear_slot(struct idset *s, size_t at)
{
    size_t mask = s->size - 1;
    for (size_t next = (at + 1) & mask; s->slots[next].fingerprint != 0; next = (next + 1) & mask) {
        size_t home = s->slots[next].fingerprint & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            s->slots[at] = s->slots[next];
            at = next;
        }
    }
    s->slots[at].fingerprint = 0;
    s->count--;
}

static void shrink(struct idset *s)
{
    size_t size = s->size;
    while (size > SLOTS_MIN && s->count < SHRINK_AT(size)) {
        size /= 2;
    }
    if (size < s->size) {
        resize(s, size); /* without memory it stays large */
    }
}

ax_err idset_new(struct idset **out)
{
    struct idset *s = calloc(1, sizeof(*s));
    if (s == NULL || !resize(s, SLOTS_MIN)) {
        free(s);
        return AX_E_NOMEM;
    }
    s->seed = fingerprint_seed();
    *out = s;
    return AX_OK;
}

void idset_free(struct idset *s)
{
    if (s != NULL) {
        free(s->slots);
        free(s);
    }
}

ax_err idset_add(struct idset *s, const char *id, uint32_t expires_s)
{
    if (expires_s == 0) {
        return AX_OK; /* expired in 1970 */
    }
    uint64_t fp = fingerprint_of(s->seed, id);
    struct slot *slot = &s->slots[find(s->slots, s->size, fp)];
    if (slot->fingerprint != 0) {
        if (expires_s > slot->expires_s) {
            slot->expires_s = expires_s;
        }
        return AX_OK;
    }
    if (s->count >= GROW_AT(s->size)) {
        if (!resize(s, s->size * 2) && s->count >= FULL_AT(s->size)) {
            return AX_E_NOMEM;
        }
        slot = &s->slots[find(s->slots, s->size, fp)];
    }
    *slot = (struct slot){.fingerprint = fp, .expires_s = expires_s};
    s->count++;
    return AX_OK;
}

bool idset_has(const struct idset *s, const char *id, uint32_t now_s)
{
    uint64_t fp = fingerprint_of(s->seed, id);
    const struct slot *slot = &s->slots[find(s->slots, s->size, fp)];
    return slot->fingerprint != 0 && slot->expires_s > now_s;
}

void idset_remove(struct idset *s, const char *id)
{
    uint64_t fp = fingerprint_of(s->seed, id);
    size_t at = find(s->slots, s->size, fp);
    if (s->slots[at].fingerprint != 0) {
        clear_slot(s, at);
        shrink(s);
    }
}

void idset_expire(struct idset *s, uint32_t now_s)
{
    size_t i = 0;
    while (i < s->size) {
        /* A slot that moves up into this one is looked at next. One that wraps round to the end of
         * the table was looked at already, or will be. */
        if (s->slots[i].fingerprint != 0 && s->slots[i].expires_s <= now_s) {
            clear_slot(s, i);
        } else {
            i++;
        }
    }
    shrink(s);
}

size_t idset_count(const struct idset *s)
{
    return s->count;
}

size_t idset_bytes(const struct idset *s)
{
    return sizeof(*s) + s->size * sizeof(s->slots[0]);
}
