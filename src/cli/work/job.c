#include "cli/work/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bus/ack.h"
#include "cli/environment.h"
#include "task/task.h"
#include "task/task_stored.h"

#define FILES_MAX 65536
#define EXIT_NAK 75  /* EX_TEMPFAIL */
#define EXIT_TERM 65 /* EX_DATAERR */

/* The variables of the task, in the order of task_environment's values. */
static const char *const variables[] = {"AX_TASK",  "AX_KEY",      "AX_ATTEMPT",
                                        "AX_FENCE", "AX_PRIORITY", "AX_POOL"};
#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

/* The caller frees it. NULL: out of memory. */
static char **task_environment(const struct task *t, uint64_t fence, bool pass_connection)
{
    char attempt[16], token[24];
    snprintf(attempt, sizeof(attempt), "%" PRIu32, t->attempt);
    snprintf(token, sizeof(token), "%" PRIu64, fence);
    const char *values[VARIABLES] = {
        t->id, t->key != NULL ? t->key : "", attempt, token, t->priority, t->pool};
    struct environment_variable list[VARIABLES];
    for (size_t i = 0; i < VARIABLES; i++)
        list[i] = (struct environment_variable){variables[i], values[i]};
    return pass_connection ? environment_with(list, VARIABLES)
                           : environment_of_command(list, VARIABLES);
}

/* In the child: the command gets stdin, stdout and stderr, and no other file. nats.c opens its
 * socket without FD_CLOEXEC, and whoever has it speaks to the server in our name. */
static void close_files(void)
{
    struct rlimit most = {.rlim_cur = FILES_MAX};
    if (close_range(STDERR_FILENO + 1, ~0U, 0) == 0)
        return;
    /* A kernel before 5.9. */
    getrlimit(RLIMIT_NOFILE, &most);
    for (int fd = STDERR_FILENO + 1; fd < FILES_MAX && (rlim_t)fd < most.rlim_cur; fd++)
        close(fd);
}

/* In the child: only what may be called between fork and exec of a process with threads. */
static void become_command(const char *command, char **environment, int in_fd, int err_fd,
                           pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    /* A worker killed with -9 must not leave a command behind that goes on writing for an attempt
     * nobody renews. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NAK);
    if (dup2(in_fd, STDIN_FILENO) < 0 || dup2(err_fd, STDERR_FILENO) < 0)
        _exit(EXIT_NAK);
    close_files();
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)command, NULL};
    execve("/bin/sh", argv, environment);
    _exit(EXIT_NAK);
}

static void close_both(int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

static bool open_pipes(int in[2], int err[2])
{
    if (pipe2(in, O_CLOEXEC))
        return false;
    if (pipe2(err, O_CLOEXEC) == 0)
        return true;
    close_both(in);
    return false;
}

static bool launch(struct job *j, const char *command, char **environment)
{
    int in[2], err[2];
    if (!open_pipes(in, err))
        return false;
    pid_t parent = getpid();
    j->pid = fork();
    if (j->pid == 0)
        become_command(command, environment, in[0], err[1], parent);
    if (j->pid < 0) {
        close_both(in);
        close_both(err);
        return false;
    }
    close(in[0]);
    close(err[1]);
    setpgid(j->pid, j->pid);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    j->in_fd = in[1];
    j->err.fd = err[0];
    return true;
}

static bool start_task(struct job *j, natsMsg *msg, const char *command, bool pass_connection)
{
    struct task t = {0};
    struct ack_subject ack;
    bool started = false;
    if (natsMsg_GetReply(msg) != NULL && ack_parse_subject(natsMsg_GetReply(msg), &ack) &&
        task_stored_read(&t, msg, NULL) == AX_OK) {
        snprintf(j->id, sizeof(j->id), "%s", t.id);
        j->fence = ack.stream_seq;
        char **environment = task_environment(&t, ack.stream_seq, pass_connection);
        started = environment != NULL && launch(j, command, environment);
        free(environment);
    }
    task_clear(&t);
    return started;
}

struct job *job_start(natsMsg *msg, const char *command, bool pass_connection)
{
    struct job *j = calloc(1, sizeof(*j));
    if (j == NULL || !start_task(j, msg, command, pass_connection)) {
        free(j);
        return NULL;
    }
    j->msg = msg;
    job_write(j);
    return j;
}

void job_write(struct job *j)
{
    int bytes = natsMsg_GetDataLength(j->msg);
    while (j->in_fd >= 0) {
        ssize_t n = 0;
        if (j->written < bytes)
            n = write(j->in_fd, natsMsg_GetData(j->msg) + j->written, (size_t)(bytes - j->written));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        j->written += n > 0 ? (int)n : 0;
        /* The whole body is written, or the command has closed its stdin. */
        if (n < 0 || j->written == bytes) {
            close(j->in_fd);
            j->in_fd = -1;
        }
    }
}

static void keep_lines(struct job_stderr *e, const char *text, ssize_t n)
{
    for (ssize_t i = 0; i < n; i++) {
        if (text[i] != '\n') {
            if (e->chars < JOB_LINE_MAX - 1)
                e->line[e->chars++] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
            continue;
        }
        e->line[e->chars] = '\0';
        if (e->chars > 0)
            memcpy(e->last_line, e->line, sizeof(e->line));
        e->chars = 0;
    }
}

void job_read(struct job *j)
{
    char buf[4096];
    while (j->err.fd >= 0) {
        ssize_t n = read(j->err.fd, buf, sizeof(buf));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(j->err.fd);
            j->err.fd = -1;
            return;
        }
        keep_lines(&j->err, buf, n);
        fwrite(buf, 1, (size_t)n, stderr);
    }
}

void job_kill(struct job *j)
{
    kill(-j->pid, SIGKILL);
    j->kill_ms = 0;
}

void job_stop(struct job *j, int64_t grace_ms)
{
    kill(-j->pid, SIGTERM);
    j->kill_ms = clock_now_ms() + grace_ms;
}

bool job_ended(struct job *j, int *status)
{
    pid_t got = waitpid(j->pid, status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    if (got < 0)
        *status = EXIT_NAK << 8;
    /* The rest of what the command wrote. A grandchild that keeps the pipe open is not waited
     * for. */
    job_read(j);
    keep_lines(&j->err, "\n", 1);
    return true;
}

void job_free(struct job *j)
{
    if (j->in_fd >= 0)
        close(j->in_fd);
    if (j->err.fd >= 0)
        close(j->err.fd);
    natsMsg_Destroy(j->msg);
    free(j);
}

enum job_verdict job_verdict(int status)
{
    if (!WIFEXITED(status))
        return JOB_NAK;
    switch (WEXITSTATUS(status)) {
    case 0:
        return JOB_ACK;
    case EXIT_TERM:
        return JOB_TERM;
    default:
        return JOB_NAK;
    }
}

void job_ack(const struct job *j, enum job_verdict verdict, char *buf, size_t cap)
{
    const char *reason = j->err.last_line;
    switch (verdict) {
    case JOB_ACK:
        snprintf(buf, cap, ACK_TEXT_ACK);
        break;
    case JOB_NAK:
        snprintf(buf, cap, ACK_TEXT_NAK);
        break;
    case JOB_TERM:
        snprintf(buf, cap, "+TERM exit %d%s%s", EXIT_TERM, reason[0] != '\0' ? ": " : "", reason);
        break;
    }
}
