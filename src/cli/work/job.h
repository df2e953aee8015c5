/* One attempt of a task, run as a command in a process of its own. Belongs to the loop's thread. */
#ifndef AX_CLI_WORK_JOB_H
#define AX_CLI_WORK_JOB_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/work/guard.h"
#include "task/names.h"

#define JOB_LINE_MAX 200
/* How long a command that is to stop may take before it is killed. */
#define JOB_GRACE_MS 5000

/* stderr of the command, line by line. */
struct job_stderr {
    int fd; /* -1: closed */
    char line[JOB_LINE_MAX];
    int chars;                    /* of the line that is being read */
    char last_line[JOB_LINE_MAX]; /* the last one that was not empty */
};
struct job {
    struct job *prev, *next; /* utlist */
    natsMsg *msg;            /* owned */
    char id[TASK_ID_CHARS + 1];
    uint64_t fence;
    pid_t pid;
    struct guard_slot *slot;
    int in_fd;   /* stdin of the command; -1: closed */
    int written; /* bytes of the body */
    struct job_stderr err;
    int64_t progress_ms; /* when the next in-progress is due (clock_now_ms) */
    int64_t kill_ms;     /* when SIGKILL follows; 0: it does not */
    int64_t killed_ms;   /* when it was sent; 0: it was not */
    int64_t ended_ms;    /* when the command ended */
    int64_t started_ms;
    bool revoked; /* superseded: it is not acknowledged */
    bool stopped; /* by us, whatever for */
    bool told;    /* the worker stops, and had the command stop */
    bool outside; /* a signal that stops services ended it, and we did not send it */
    bool ended;   /* the command has; others of its process group may go on */
    int status;   /* as waitpid gives it */
};

/* What the end of a command means for its task. JOB_GIVE_BACK: nothing, it did not fail. */
enum job_verdict { JOB_ACK, JOB_NAK, JOB_TERM, JOB_GIVE_BACK };

/* What every job of a worker is started with. All of it is borrowed. */
struct job_setup {
    const char *command;
    bool pass_connection; /* the command may connect as we do */
    struct guard *guard;
};

/* JOB_NOT_STARTED: this machine cannot start a command now (errno), which is no fault of the
 * task's. */
enum job_start { JOB_STARTED, JOB_NOT_STARTED, JOB_NO_TASK };

/* Starts `/bin/sh -c command` with msg's body on its stdin. The command has no file of ours but
 * stdout and stderr, and of our environment what is not private (environment_of_command), all of it
 * with pass_connection. JOB_STARTED: msg is taken. */
enum job_start job_start(struct job **out, natsMsg *msg, const struct job_setup *setup);
/* The command's pipes are ready: writes more of the body, passes stderr on (base/io/outlet.h), at
 * most as much as a pipe holds. */
void job_write(struct job *j);
void job_read(struct job *j);
/* SIGTERM to the command's process group, SIGKILL after JOB_GRACE_MS; once. */
void job_stop(struct job *j);
void job_kill(struct job *j);
/* The command has ended, status as waitpid gives it. */
void job_on_exit(struct job *j, int status);
/* True when nothing of the command goes on. What it left in its process group is stopped, unless it
 * has ended well by itself: that may leave something running. To be asked again while it is false.
 */
bool job_is_over(struct job *j);
/* errno of what kept it from becoming the command; 0: nothing did. */
int job_start_error(const struct job *j);
/* Exit code 0: ack; 65: term; everything else: nak. */
enum job_verdict job_verdict(int status);
/* The acknowledgement to send, in buf; that of a term ends with the reason. */
void job_ack(const struct job *j, enum job_verdict verdict, char *buf, size_t cap);
void job_free(struct job *j);

#endif
