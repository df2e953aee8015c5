/* One attempt of a task, run as a command in a process of its own. Belongs to the loop's thread. */
#ifndef AX_CLI_WORK_JOB_H
#define AX_CLI_WORK_JOB_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "task/names.h"

#define JOB_LINE_MAX 200

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
    int in_fd;   /* stdin of the command; -1: closed */
    int written; /* bytes of the body */
    struct job_stderr err;
    int64_t progress_ms; /* when the next in-progress is due (clock_now_ms) */
    int64_t kill_ms;     /* when SIGKILL follows; 0: it does not */
    int64_t started_ms;
    bool revoked; /* superseded: it is not acknowledged */
};

/* What the end of a command means for its task. */
enum job_verdict { JOB_ACK, JOB_NAK, JOB_TERM };

/* Starts `/bin/sh -c command` with msg's body on its stdin. The command has no file of ours but
 * stdout and stderr, and of our environment what is not private (environment_of_command), all of it
 * with pass_connection. msg is taken when a job is returned. NULL: msg is no task, or the command
 * could not be started (errno). */
struct job *job_start(natsMsg *msg, const char *command, bool pass_connection);
/* The command's pipes are ready: writes more of the body, passes stderr on. */
void job_write(struct job *j);
void job_read(struct job *j);
/* SIGTERM to the command's process group, SIGKILL after grace_ms. */
void job_stop(struct job *j, int64_t grace_ms);
void job_kill(struct job *j);
/* True when the command has ended; *status as waitpid gives it. */
bool job_ended(struct job *j, int *status);
/* Exit code 0: ack; 65: term; everything else: nak. */
enum job_verdict job_verdict(int status);
/* The acknowledgement to send, in buf; that of a term ends with the reason. */
void job_ack(const struct job *j, enum job_verdict verdict, char *buf, size_t cap);
void job_free(struct job *j);

#endif
