#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bus/ack.h"
#include "cli/work/work.h"
#include "task/task.h"
#include "task/task_stored.h"

#define EXIT_NAK 75  /* EX_TEMPFAIL */
#define EXIT_TERM 65 /* EX_DATAERR */

extern char **environ;

static const char *const variables[] = {"AX_TASK",  "AX_KEY",      "AX_ATTEMPT",
                                        "AX_FENCE", "AX_PRIORITY", "AX_POOL"};
#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        size_t n = strlen(variables[i]);
        if (strncmp(entry, variables[i], n) == 0 && entry[n] == '=')
            return true;
    }
    return false;
}

/* Our environment with the task's variables; one block, one free. NULL: out of memory. */
static char **build_environment(const struct task *t, uint64_t fence)
{
    char attempt[16], token[24];
    snprintf(attempt, sizeof(attempt), "%" PRIu32, t->attempt);
    snprintf(token, sizeof(token), "%" PRIu64, fence);
    const char *values[VARIABLES] = {t->id, t->key ? t->key : "", attempt,
                                     token, t->priority,          t->pool};
    size_t count = 0, chars = 0;
    for (char **e = environ; *e; e++)
        count++;
    for (size_t i = 0; i < VARIABLES; i++)
        chars += strlen(variables[i]) + strlen(values[i]) + 2;
    char **block = malloc((count + VARIABLES + 1) * sizeof(*block) + chars);
    if (!block)
        return NULL;
    size_t k = 0;
    for (char **e = environ; *e; e++) {
        if (!is_ours(*e))
            block[k++] = *e;
    }
    char *text = (char *)(block + count + VARIABLES + 1);
    for (size_t i = 0; i < VARIABLES; i++) {
        block[k++] = text;
        text += sprintf(text, "%s=%s", variables[i], values[i]) + 1;
    }
    block[k] = NULL;
    return block;
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
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)command, NULL};
    execve("/bin/sh", argv, environment);
    _exit(EXIT_NAK);
}

static bool launch(struct job *j, const char *command, char **environment)
{
    int in[2], err[2];
    if (pipe2(in, O_CLOEXEC))
        return false;
    if (pipe2(err, O_CLOEXEC)) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    pid_t parent = getpid();
    j->pid = fork();
    if (j->pid == 0)
        become_command(command, environment, in[0], err[1], parent);
    close(in[0]);
    close(err[1]);
    if (j->pid < 0) {
        close(in[1]);
        close(err[0]);
        return false;
    }
    setpgid(j->pid, j->pid);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    j->in_fd = in[1];
    j->err_fd = err[0];
    return true;
}

struct job *job_start(natsMsg *msg, const char *command)
{
    struct task t = {0};
    struct ack_subject ack;
    struct job *j = calloc(1, sizeof(*j));
    char **environment = NULL;
    bool started = false;
    if (j && natsMsg_GetReply(msg) && ack_parse_subject(natsMsg_GetReply(msg), &ack) &&
        task_stored_read(&t, msg, NULL) == AX_OK) {
        snprintf(j->id, sizeof(j->id), "%s", t.id);
        j->fence = ack.stream_seq;
        j->in_fd = j->err_fd = -1;
        environment = build_environment(&t, ack.stream_seq);
        started = environment && launch(j, command, environment);
    }
    task_clear(&t);
    free(environment);
    if (!started) {
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
        /* All of it, or the command does not want it: its right. */
        if (n < 0 || j->written == bytes) {
            close(j->in_fd);
            j->in_fd = -1;
        }
    }
}

static void keep_line(struct job *j, const char *text, ssize_t n)
{
    for (ssize_t i = 0; i < n; i++) {
        if (text[i] != '\n') {
            if (j->line_chars < JOB_LINE_MAX - 1)
                j->line[j->line_chars++] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
            continue;
        }
        j->line[j->line_chars] = '\0';
        if (j->line_chars)
            memcpy(j->last_line, j->line, sizeof(j->line));
        j->line_chars = 0;
    }
}

void job_read(struct job *j)
{
    char buf[4096];
    while (j->err_fd >= 0) {
        ssize_t n = read(j->err_fd, buf, sizeof(buf));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(j->err_fd);
            j->err_fd = -1;
            return;
        }
        keep_line(j, buf, n);
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
    /* What the command still had to say; a grandchild that keeps the pipe open is not waited
     * for. */
    job_read(j);
    keep_line(j, "\n", 1);
    return true;
}

void job_free(struct job *j)
{
    if (j->in_fd >= 0)
        close(j->in_fd);
    if (j->err_fd >= 0)
        close(j->err_fd);
    natsMsg_Destroy(j->msg);
    free(j);
}

const char *job_receipt(const struct job *j, int status, char *buf, size_t cap)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ACK_TEXT_ACK;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_TERM)
        return ACK_TEXT_NAK;
    snprintf(buf, cap, "+TERM exit %d%s%s", EXIT_TERM, j->last_line[0] ? ": " : "", j->last_line);
    return buf;
}
