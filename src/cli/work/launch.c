#include "cli/work/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/work/files.h"

/* In the child: only what may be called between fork and exec of a process with threads. nats.c
 * opens its socket without FD_CLOEXEC, and whoever has it speaks to the server in our name. */
static _Noreturn void become_command(const char *command, char **environment, int in_fd, int err_fd,
                                     struct guard_slot *slot, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    guard_enter(slot);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* Sooner than the guard, and without it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    errno = ESRCH;
    if (getppid() != parent)
        guard_fail(slot);
    if (dup2(in_fd, STDIN_FILENO) < 0 || dup2(err_fd, STDERR_FILENO) < 0)
        guard_fail(slot);
    files_close_from(STDERR_FILENO + 1);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)command, NULL};
    execve("/bin/sh", argv, environment);
    guard_fail(slot);
}

static void close_both(int fds[2])
{
    int err = errno;
    close(fds[0]);
    close(fds[1]);
    errno = err;
}

static bool open_pipes(int in[2], int err[2])
{
    if (pipe2(in, O_CLOEXEC) != 0)
        return false;
    if (pipe2(err, O_CLOEXEC) == 0)
        return true;
    close_both(in);
    return false;
}

bool launch_command(struct launched *l, const char *command, char **environment,
                    struct guard_slot *slot)
{
    int in[2], err[2];
    if (!open_pipes(in, err))
        return false;
    pid_t parent = getpid();
    l->pid = fork();
    if (l->pid == 0)
        become_command(command, environment, in[0], err[1], slot, parent);
    if (l->pid < 0) {
        close_both(in);
        close_both(err);
        return false;
    }
    close(in[0]);
    close(err[1]);
    setpgid(l->pid, l->pid);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    l->in_fd = in[1];
    l->err_fd = err[0];
    return true;
}
