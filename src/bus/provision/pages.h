/* A list of the JetStream API (STREAM.NAMES, STREAM.LIST), which comes in pages. */
#ifndef AX_BUS_PROVISION_PAGES_H
#define AX_BUS_PROVISION_PAGES_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "bus/provision/asker.h"

/* Zero-initialise, then set the fields before the blank line. Lives until done is called. */
struct pages {
    struct asker *asker;
    const char *what;    /* "STREAM.NAMES" or "STREAM.LIST" */
    const char *subject; /* only streams with a subject that this one matches; NULL: all */
    /* One element of the list; another error than AX_OK ends the reading with p. */
    ax_err (*item)(void *arg, const json_t *value, struct problem *p);
    /* Once, last. p->err is AX_OK when all was read; AX_E_NO_RESPONDERS: some stream has no leader,
     * and a list without it would look as if it were gone. */
    void (*done)(void *arg, const struct problem *p);
    void *arg;

    size_t offset; /* pages.c's own */
};

void pages_read(struct pages *pages);

#endif
