/* A process beside `ax work` that kills the commands which still run when `ax work` is gone,
 * however it went. A command whose leader dies with its parent (PR_SET_PDEATHSIG) may have started
 * others, which would go on for an attempt that nobody renews.
 *
 * The guard waits for the end of a pipe whose other end only `ax work` has open, and each command
 * until its exec. The process groups stand in memory that all of them share, so nobody ever waits
 * for the guard, and a new one takes over from one that was killed. Belongs to the loop's thread,
 * but for guard_enter and guard_fail. */
#ifndef AX_CLI_WORK_GUARD_H
#define AX_CLI_WORK_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* One command's. Shared between processes. */
struct guard_slot {
    _Atomic pid_t group; /* 0: no command, or it has not begun */
    _Atomic int error;   /* errno of what kept it from becoming the command; 0: nothing did */
    bool taken;
};
struct guard {
    struct guard_slot *slots;
    int count;
    int pipe[2]; /* read, write */
    pid_t pid;   /* of the guard; 0: none runs */
};

/* Room for this many commands. False: errno. */
bool guard_init(struct guard *g, int count);
/* Sees to it that a guard runs. False: it could not be started (errno). */
bool guard_ensure(struct guard *g);
/* A child of ours has ended. True: it was the guard. */
bool guard_on_exit(struct guard *g, pid_t pid);
/* The guard ends, and kills what still runs. */
void guard_free(struct guard *g);

/* A slot for a command, which guard_release gives back. At most `count` are taken at a time. */
struct guard_slot *guard_take(struct guard *g);
void guard_release(struct guard_slot *s);
/* In the child, between fork and exec: it leads a process group of its own, which is guarded from
 * here on. */
void guard_enter(struct guard_slot *s);
/* In the child: it cannot become the command (errno). Does not return. */
_Noreturn void guard_fail(struct guard_slot *s);

#endif
