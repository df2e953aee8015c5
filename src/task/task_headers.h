/* Reading a received message's headers with nats.c 3.4's parser, which has two traps. A header
 * without a value swallows the next line as its value: "X: \r\nAx-Key: 5" reads as X = "Ax-Key:
 * 5", and the key is lost. And a value ends at a NUL byte. Both are detected by looking at the
 * bytes around the value. Inside src/task only. */
#ifndef AX_TASK_TASK_HEADERS_H
#define AX_TASK_TASK_HEADERS_H

#include <nats/nats.h>
#include <stdbool.h>

#include "base/error.h"

struct task_header_value {
    const char *name;
    const char *value;
    int index, of; /* index-th of that many values of this name */
    /* false: empty, folded over lines, or holding a NUL byte; do not trust value */
    bool whole;
};

/* Calls visit for every value of every header, until it returns other than AX_OK. AX_E_PROTOCOL:
 * the headers cannot be read (the last one is empty, a line without colon …), or not all of them.
 * No headers: AX_OK. */
ax_err task_headers_each(natsMsg *msg,
                         ax_err (*visit)(void *arg, const struct task_header_value *h), void *arg);

#endif
