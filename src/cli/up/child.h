/* Children of `ax up`: each dies with this process, and is started again when it dies by itself.
 * The main thread only. */
#ifndef AX_CLI_UP_CHILD_H
#define AX_CLI_UP_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_ARGS_MAX 24

struct child {
    const char *name; /* argv[0] as well; borrowed */
    char path[PATH_MAX];
    char *argv[CHILD_ARGS_MAX]; /* owned from [1] on, NULL-terminated */
    int argc;
    char **environment; /* borrowed */
    int death_signal;   /* what the kernel sends it when this process dies */
    int keep_fd;        /* inherited; -1: none */
    pid_t pid;          /* 0: not running */
    int http_port;      /* where it answers /readyz; 0: it does not */
    int failures;       /* deaths in a row */
    int64_t started_ms;
    int64_t restart_ms; /* when it is to be started again (clock_now_ms); 0: it is not */
};

void child_init(struct child *c, const char *name, int death_signal);
/* Appends an argument, copied. False: no room or memory. */
bool child_arg(struct child *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Frees the arguments. */
void child_clear_args(struct child *c);
/* False: it cannot be started (logged); restart_ms is set. */
bool child_start(struct child *c);
/* The child has ended, with this status of waitpid: logs it and sets when it is to be started
 * again. */
void child_died(struct child *c, int status);
/* SIGTERM, and SIGKILL to what still runs after grace_ms. Returns when all have ended. SIGCHLD must
 * be blocked. */
void child_stop_all(struct child **list, int count, int64_t grace_ms);

#endif
