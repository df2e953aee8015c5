#include "cli/up/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define BACKOFF_FIRST_MS 200
#define BACKOFF_LAST_MS 10000
#define HEALTHY_AFTER_MS 30000

void child_init(struct child *c, const char *name, int death_signal)
{
    *c = (struct child){.name = name, .death_signal = death_signal, .keep_fd = -1};
}

bool child_arg(struct child *c, const char *format, ...)
{
    char text[PATH_MAX + 64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (c->argc == 0) {
        c->argv[0] = (char *)(uintptr_t)c->name;
        c->argc = 1;
    }
    if (n < 0 || (size_t)n >= sizeof(text) || c->argc + 1 >= CHILD_ARGS_MAX)
        return false;
    c->argv[c->argc] = strdup(text);
    return c->argv[c->argc++] != NULL;
}

void child_clear_args(struct child *c)
{
    for (int i = 1; i < c->argc; i++)
        free(c->argv[i]);
    memset(c->argv, 0, sizeof(c->argv));
    c->argc = 0;
}

/* Only what may be called between fork and exec of a process with threads. */
static void become(const struct child *c, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* A group of its own: Ctrl-C reaches `ax up` alone, which stops the children in order. */
    setpgid(0, 0);
    /* Bound to the thread that forked: that is the main one, which lives as long as the process.
     * The parent may have ended already, and then no signal is sent. */
    prctl(PR_SET_PDEATHSIG, c->death_signal);
    if (getppid() != parent)
        _exit(1);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    /* stdout of `ax up` is its ready line; children write to stderr only. */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (c->keep_fd >= 0)
        fcntl(c->keep_fd, F_SETFD, 0);
    execve(c->path, c->argv, c->environment);
    _exit(127);
}

bool child_start(struct child *c)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(c, parent);
    c->started_ms = clock_now_ms();
    c->restart_ms = 0;
    if (pid < 0) {
        log_error("cannot fork", "child=%s errno=%d", c->name, errno);
        c->failures++;
        c->restart_ms = c->started_ms + BACKOFF_LAST_MS;
        return false;
    }
    c->pid = pid;
    if (c->http_port)
        log_info("started", "child=%s pid=%d http=127.0.0.1:%d", c->name, (int)pid, c->http_port);
    else
        log_info("started", "child=%s pid=%d", c->name, (int)pid);
    return true;
}

void child_died(struct child *c, int status)
{
    int64_t now_ms = clock_now_ms();
    c->pid = 0;
    c->failures = now_ms - c->started_ms >= HEALTHY_AFTER_MS ? 0 : c->failures;
    int64_t wait_ms = BACKOFF_FIRST_MS << (c->failures < 10 ? c->failures : 10);
    wait_ms = wait_ms > BACKOFF_LAST_MS ? BACKOFF_LAST_MS : wait_ms;
    c->failures++;
    c->restart_ms = now_ms + wait_ms;
    log_error("died", "child=%s %s=%d restart_ms=%lld", c->name,
              WIFSIGNALED(status) ? "signal" : "exit",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), (long long)wait_ms);
}

static int reap(struct child **list, int count)
{
    int running = 0;
    for (int i = 0; i < count; i++) {
        if (list[i]->pid && waitpid(list[i]->pid, NULL, WNOHANG) != 0)
            list[i]->pid = 0;
        running += list[i]->pid != 0;
    }
    return running;
}

void child_stop_all(struct child **list, int count, int64_t grace_ms)
{
    for (int i = 0; i < count; i++) {
        if (list[i]->pid)
            kill(list[i]->pid, SIGTERM);
    }
    int64_t kill_ms = clock_now_ms() + grace_ms;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    while (reap(list, count) > 0) {
        int64_t left_ms = kill_ms - clock_now_ms();
        if (left_ms <= 0) {
            for (int i = 0; i < count; i++) {
                if (list[i]->pid) {
                    log_warn("does not stop, killed", "child=%s", list[i]->name);
                    kill(list[i]->pid, SIGKILL);
                }
            }
            kill_ms = clock_now_ms() + grace_ms;
            continue;
        }
        /* SIGCHLD is blocked, so one that came since reap() looked is still pending here. */
        struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
        sigtimedwait(&child, NULL, &left);
    }
}
