#include "core/task_headers.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* nats.c keeps a received message in one block: subject, reply, headers, body. Names and values point into it. */
struct block {
    uintptr_t from, to;
};

static bool is_inside(const struct block *b, const char *s) {
    return (uintptr_t)s > b->from && (uintptr_t)s < b->to;
}

static bool is_whole(const struct block *b, const char *name, const char *value) {
    if (!value || !*value) {
        return false;
    }
    if (!is_inside(b, value)) {
        /* A copy: set by this process, name included, or joined from folded lines. */
        return !is_inside(b, name);
    }
    for (const char *c = value - 1; is_inside(b, c) && isspace((unsigned char)*c); c--) {
        if (*c == '\n') {
            return false;
        }
    }
    const char *end = value + strlen(value) + 1;
    while (is_inside(b, end) && *end != '\n' && isspace((unsigned char)*end)) {
        end++;
    }
    return is_inside(b, end) && *end == '\n';
}

ax_err task_headers_each(natsMsg *msg, ax_err (*visit)(void *arg, const struct task_header_value *h), void *arg) {
    const char **names = NULL;
    int name_count = 0;
    natsStatus s = natsMsgHeader_Keys(msg, &names, &name_count);
    if (s == NATS_NOT_FOUND) {
        return AX_OK;
    }
    if (s != NATS_OK) {
        return s == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_PROTOCOL;
    }
    const struct block block = {(uintptr_t)natsMsg_GetSubject(msg), (uintptr_t)natsMsg_GetData(msg)};
    ax_err err = AX_OK;
    for (int i = 0; err == AX_OK && i < name_count; i++) {
        struct task_header_value h = {.name = names[i]};
        const char **values = NULL;
        s = natsMsgHeader_Values(msg, h.name, &values, &h.of);
        if (s != NATS_OK) {
            /* An empty name (": x") cannot be asked for. */
            err = s == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_PROTOCOL;
        }
        for (; err == AX_OK && h.index < h.of; h.index++) {
            h.value = values[h.index];
            h.whole = is_whole(&block, h.name, h.value);
            err = visit(arg, &h);
        }
        free(values);
    }
    free(names);
    return err;
}
