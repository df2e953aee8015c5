#include "cli/work/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/work/files.h"

#define GUARD_NAME "task-guard"
#define EXIT_NOT_STARTED 75

bool guard_init(struct guard *g, int count)
{
    *g = (struct guard){.count = count};
    size_t bytes = (size_t)count * sizeof(struct guard_slot);
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    g->slots = shared;
    return pipe2(g->pipe, O_CLOEXEC) == 0;
}

/* In the guard: `pkill -9 -f "ax work"` must not find it. Its arguments are a copy of ours, which
 * begin where the program's name does and end with a NUL. */
static void change_name(void)
{
    char buf[4096];
    prctl(PR_SET_NAME, GUARD_NAME);
    int fd = open("/proc/self/cmdline", O_RDONLY);
    size_t bytes = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0;)
        bytes += (size_t)n;
    if (fd >= 0)
        close(fd);
    if (bytes <= sizeof(GUARD_NAME))
        return;
    memset(program_invocation_name, 0, bytes);
    memcpy(program_invocation_name, GUARD_NAME, sizeof(GUARD_NAME));
}

/* In the guard. Only what may be called after fork in a process with threads. */
static _Noreturn void watch(const struct guard *g)
{
    char byte;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    change_name();
    dup2(g->pipe[0], STDIN_FILENO);
    files_close_from(STDIN_FILENO + 1);
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        continue;
    for (int i = 0; i < g->count; i++) {
        pid_t group = atomic_load(&g->slots[i].group);
        if (group > 0)
            kill(-group, SIGKILL);
    }
    _exit(0);
}

bool guard_ensure(struct guard *g)
{
    if (g->pid > 0)
        return true;
    pid_t pid = fork();
    if (pid == 0)
        watch(g);
    g->pid = pid > 0 ? pid : 0;
    return pid > 0;
}

bool guard_on_exit(struct guard *g, pid_t pid)
{
    if (pid != g->pid)
        return false;
    g->pid = 0;
    return true;
}

void guard_free(struct guard *g)
{
    close(g->pipe[0]);
    close(g->pipe[1]);
    munmap(g->slots, (size_t)g->count * sizeof(struct guard_slot));
}

struct guard_slot *guard_take(struct guard *g)
{
    for (int i = 0; i < g->count; i++) {
        struct guard_slot *s = &g->slots[i];
        if (s->taken)
            continue;
        s->taken = true;
        atomic_store(&s->group, 0);
        atomic_store(&s->error, 0);
        return s;
    }
    return NULL;
}

void guard_release(struct guard_slot *s)
{
    atomic_store(&s->group, 0);
    s->taken = false;
}

void guard_enter(struct guard_slot *s)
{
    setpgid(0, 0);
    atomic_store(&s->group, getpid());
}

void guard_fail(struct guard_slot *s)
{
    atomic_store(&s->error, errno);
    _exit(EXIT_NOT_STARTED);
}
