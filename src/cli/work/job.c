#include "cli/work/job.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io/outlet.h"
#include "bus/ack.h"
#include "cli/environment.h"
#include "cli/work/launch.h"
#include "task/task.h"
#include "task/task_stored.h"

#define EXIT_TERM 65 /* EX_DATAERR */
#define KILLED_MS 1000
#define READ_BYTES 4096
#define PIPE_BYTES 65536 /* what it holds, as the kernel makes them */

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

/* errno where there is none. */
static bool start_command(struct job *j, const struct task *t, const struct job_setup *setup)
{
    struct launched l;
    if (!guard_ensure(setup->guard))
        return false;
    char **environment = task_environment(t, j->fence, setup->pass_connection);
    if (environment == NULL)
        return false;
    j->slot = guard_take(setup->guard);
    bool started = launch_command(&l, setup->command, environment, j->slot);
    int err = errno;
    free(environment);
    errno = err;
    if (!started) {
        guard_release(j->slot);
        return false;
    }
    j->pid = l.pid;
    j->in_fd = l.in_fd;
    j->err.fd = l.err_fd;
    return true;
}

static enum job_start start(struct job *j, natsMsg *msg, const struct job_setup *setup)
{
    struct task t = {0};
    struct ack_subject ack;
    const char *reply = natsMsg_GetReply(msg);
    if (reply == NULL || !ack_parse_subject(reply, &ack))
        return JOB_NO_TASK;
    ax_err err = task_stored_read(&t, msg, NULL);
    if (err != AX_OK)
        return err == AX_E_NOMEM ? JOB_NOT_STARTED : JOB_NO_TASK;
    snprintf(j->id, sizeof(j->id), "%s", t.id);
    j->fence = ack.stream_seq;
    bool started = start_command(j, &t, setup);
    int number = errno;
    task_clear(&t);
    errno = number;
    return started ? JOB_STARTED : JOB_NOT_STARTED;
}

enum job_start job_start(struct job **out, natsMsg *msg, const struct job_setup *setup)
{
    struct job *j = calloc(1, sizeof(*j));
    errno = ENOMEM;
    enum job_start how = j != NULL ? start(j, msg, setup) : JOB_NOT_STARTED;
    if (how != JOB_STARTED) {
        free(j);
        return how;
    }
    j->msg = msg;
    job_write(j);
    *out = j;
    return how;
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

/* False: there is no more for now. */
static bool read_some(struct job *j)
{
    char buf[READ_BYTES];
    ssize_t n = read(j->err.fd, buf, sizeof(buf));
    if (n > 0) {
        keep_lines(&j->err, buf, n);
        outlet_write(buf, (size_t)n);
        return true;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    close(j->err.fd);
    j->err.fd = -1;
    return false;
}

void job_read(struct job *j)
{
    /* A command that writes faster than this must not hold up what else there is to do. */
    for (int i = 0; i < PIPE_BYTES / READ_BYTES && j->err.fd >= 0; i++) {
        if (!read_some(j))
            return;
    }
}

void job_kill(struct job *j)
{
    kill(-j->pid, SIGKILL);
    j->kill_ms = 0;
    j->killed_ms = clock_now_ms();
}

void job_stop(struct job *j)
{
    if (j->stopped)
        return;
    j->stopped = true;
    kill(-j->pid, SIGTERM);
    j->kill_ms = clock_now_ms() + JOB_GRACE_MS;
}

/* The shell of a command that was killed says so by 128 + signal. */
static bool is_stop_signal(int status)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
    return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

void job_on_exit(struct job *j, int status)
{
    j->ended = true;
    j->status = status;
    j->outside = !j->stopped && is_stop_signal(status);
    j->ended_ms = clock_now_ms();
    /* The rest of what the command wrote. A grandchild that keeps the pipe open is not waited
     * for. */
    job_read(j);
    keep_lines(&j->err, "\n", 1);
}

/* Others of its process group are still there. */
static bool has_left_others(const struct job *j)
{
    return kill(-j->pid, 0) == 0;
}

bool job_is_over(struct job *j)
{
    if (!j->ended)
        return false;
    if (!has_left_others(j))
        return true;
    bool done = WIFEXITED(j->status) && WEXITSTATUS(j->status) == 0;
    if (done && !j->stopped)
        return true;
    job_stop(j);
    /* What SIGKILL does not end at once hangs in the kernel: nothing else ends it either. */
    return j->killed_ms != 0 && clock_now_ms() - j->killed_ms >= KILLED_MS;
}

int job_start_error(const struct job *j)
{
    return atomic_load(&j->slot->error);
}

void job_free(struct job *j)
{
    if (j->in_fd >= 0)
        close(j->in_fd);
    if (j->err.fd >= 0)
        close(j->err.fd);
    guard_release(j->slot);
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
    case JOB_GIVE_BACK:
        snprintf(buf, cap, ACK_TEXT_GIVEN_BACK);
        break;
    case JOB_TERM:
        snprintf(buf, cap, "+TERM exit %d%s%s", EXIT_TERM, reason[0] != '\0' ? ": " : "", reason);
        break;
    }
}
