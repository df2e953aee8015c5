/* The one loop of `ax work`: over the mailbox, signals, and the pipes of the commands that run. */
#ifndef AX_CLI_WORK_WORKER_LOOP_H
#define AX_CLI_WORK_WORKER_LOOP_H

#include "cli/work/worker.h"

/* Works until it is told to stop and everything has ended. signals: a signalfd of SIGCHLD and of
 * the signals that stop; the first of these lets the commands finish, the second stops them, too.
 * Returns the exit code. */
int worker_loop_run(struct worker *w, int signals);

#endif
