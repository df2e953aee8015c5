/* Whether this machine can start commands. While it cannot (a process limit, no memory, no file
 * left), `ax work` asks for no task but one now and then, to try. Belongs to the loop's thread. */
#ifndef AX_CLI_WORK_STARTS_H
#define AX_CLI_WORK_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

/* Zero-initialise. */
struct starts {
    int64_t not_before_ms; /* nothing is started before (clock_now_ms) */
    int failed;            /* in a row; 0: commands start */
    bool exec;             /* there was a process for the last that failed */
    struct log_gate gate_failed, gate_ok;
};

/* There is no process for a command, or, exec, it did not become the command. err: errno. Says so
 * once. */
void starts_failed(struct starts *s, int err, bool exec);
/* There was a process for one, or, exec, one has run. */
void starts_ok(struct starts *s, bool exec);
/* Nothing may be started now. */
bool starts_wait(const struct starts *s);
/* When that ends; INT64_MAX: it has. */
int64_t starts_due_ms(const struct starts *s);
/* How many tasks may be asked for, of free slots: one where it is not known to start. */
int starts_room(const struct starts *s, int free_slots);

#endif
