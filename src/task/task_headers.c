#include "task/task_headers.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* nats.c keeps a received message in one block: subject, reply, headers, body. Names and values
 * point into it. */
struct block {
    uintptr_t from, to;
};

static struct block block_of(natsMsg *msg)
{
    /* No message is as long as that. The limit keeps us safe from a client library that lays
     * messages out in another way. */
    enum { LONGEST = 1 << 28 };
    struct block b = {(uintptr_t)natsMsg_GetSubject(msg), (uintptr_t)natsMsg_GetData(msg)};
    return b.to > b.from && b.to - b.from < LONGEST ? b : (struct block){b.from, b.from};
}

static bool is_inside(const struct block *b, const char *s)
{
    return (uintptr_t)s > b->from && (uintptr_t)s < b->to;
}

static bool is_whole(const struct block *b, const char *name, const char *value)
{
    if (value == NULL || *value == '\0')
        return false;
    if (!is_inside(b, value)) {
        /* A copy: set by this process, name included, or joined from folded lines. */
        return !is_inside(b, name);
    }
    for (const char *c = value - 1; is_inside(b, c) && isspace((unsigned char)*c); c--) {
        if (*c == '\n')
            return false;
    }
    const char *end = value + strlen(value) + 1;
    while (is_inside(b, end) && *end != '\n' && isspace((unsigned char)*end))
        end++;
    return is_inside(b, end) && *end == '\n';
}

/* Every line of the block must have become a value. After a failed attempt at parsing, by
 * whoever asked for a header first, nats.c takes the part that it had parsed for the whole. */
static bool is_complete(const struct block *b, size_t values)
{
    size_t lines = 0;
    const char *c = (const char *)b->from;
    while ((c = memchr(c, '\n', b->to - (uintptr_t)c))) {
        lines++;
        c++;
    }
    /* 0: made by this process; 2: the version's and the empty one at the end */
    return lines == 0 || lines == values + 2;
}

ax_err task_headers_each(natsMsg *msg,
                         ax_err (*visit)(void *arg, const struct task_header_value *h), void *arg)
{
    const char **names = NULL;
    int name_count = 0;
    natsStatus s = natsMsgHeader_Keys(msg, &names, &name_count);
    if (s != NATS_OK && s != NATS_NOT_FOUND)
        return s == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_PROTOCOL;
    const struct block block = block_of(msg);
    size_t values_inside = 0;
    ax_err err = AX_OK;
    for (int i = 0; err == AX_OK && i < name_count; i++) {
        struct task_header_value h = {.name = names[i]};
        const char **values = NULL;
        s = natsMsgHeader_Values(msg, h.name, &values, &h.of);
        if (s != NATS_OK) {
            /* An empty name (": x") cannot be asked for. */
            err = s == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_PROTOCOL;
        }
        values_inside += is_inside(&block, h.name) ? (size_t)h.of : 0;
        for (; err == AX_OK && h.index < h.of; h.index++) {
            h.value = values[h.index];
            h.whole = is_whole(&block, h.name, h.value);
            err = visit(arg, &h);
        }
        free(values);
    }
    free(names);
    return err == AX_OK && !is_complete(&block, values_inside) ? AX_E_PROTOCOL : err;
}
