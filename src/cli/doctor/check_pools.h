/* What is wrong with a pool. Pure. */
#ifndef AX_CLI_DOCTOR_CHECK_POOLS_H
#define AX_CLI_DOCTOR_CHECK_POOLS_H

#include "cli/doctor/finding.h"
#include "cli/doctor/view.h"

/* A row of a table of checks. */
struct check_pools_row {
    enum severity severity;
    const char *code;
    /* True: it is so, and f has text and fix. */
    bool (*is_so)(const struct view *v, const struct view_pool *p, struct finding *f);
};

/* Adds the findings of all pools to out: its own, then those of check_load.h and check_ends.h. */
void check_pools(const struct view *v, struct findings *out);
/* Adds to out what these rows find about one pool. */
void check_pools_run(const struct check_pools_row *rows, size_t count, const struct view *v,
                     const struct view_pool *p, struct findings *out);

/* Paused by its settings or by its consumer. */
bool check_pools_is_paused(const struct view_pool *p);

#endif
