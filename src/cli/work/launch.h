/* The process of a command, with a pipe to its stdin and one from its stderr. */
#ifndef AX_CLI_WORK_LAUNCH_H
#define AX_CLI_WORK_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/work/guard.h"

struct launched {
    pid_t pid;         /* of the process, and of the group that it leads */
    int in_fd, err_fd; /* non-blocking; the caller closes both */
};

/* Starts `/bin/sh -c command` with this environment. It leads a process group of its own, has the
 * default signals and no file of ours but stdout. False: there is no process, pipe or file for it
 * (errno). What fails after the fork stands in the slot when the process has ended. */
bool launch_command(struct launched *l, const char *command, char **environment,
                    struct guard_slot *slot);

#endif
