#include "cli/up/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bus/connect.h"

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* name on PATH, as execvp would look for it. */
static bool on_path(const char *name, char path[PATH_MAX])
{
    const char *dirs = getenv("PATH");
    while (dirs && *dirs) {
        size_t n = strcspn(dirs, ":");
        if (n && snprintf(path, PATH_MAX, "%.*s/%s", (int)n, dirs, name) < PATH_MAX &&
            is_program(path))
            return true;
        dirs += n + (dirs[n] == ':');
    }
    return false;
}

/* "nats-server: v2.15.1" → "2.15.1". */
static bool read_version(const char *path, char version[32])
{
    char line[128] = "";
    int out[2];
    if (pipe(out))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        execl(path, path, "--version", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    size_t got = 0;
    ssize_t n;
    while (pid > 0 && got < sizeof(line) - 1 &&
           (n = read(out[0], line + got, sizeof(line) - 1 - got)) > 0)
        got += (size_t)n;
    close(out[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    const char *v = strstr(line, ": v");
    return v && sscanf(v + 3, "%31[0-9A-Za-z.+-]", version) == 1;
}

static ax_err check(const char *path, char version[32], struct problem *p)
{
    if (!is_program(path))
        return problem_set(p, AX_E_NOT_FOUND, "%s is no program that can be run", path);
    if (!read_version(path, version)) {
        return problem_set(p, AX_E_VERSION, "%s does not say its version: is it a nats-server?",
                           path);
    }
    if (!connect_version_at_least(version, AX_MIN_SERVER)) {
        return problem_set(
            p, AX_E_VERSION,
            "%s is version %s, AX needs %s or newer (AX_NATS_SERVER names another one)", path,
            version, AX_MIN_SERVER);
    }
    return AX_OK;
}

ax_err program_find_server(char path[PATH_MAX], char version[32], struct problem *p)
{
    const char *named = getenv("AX_NATS_SERVER");
    if (named && *named) {
        snprintf(path, PATH_MAX, "%s", named);
        return check(path, version, p);
    }
    ax_err on_path_error = AX_E_NOT_FOUND;
    if (on_path("nats-server", path) && !(on_path_error = check(path, version, p)))
        return AX_OK;
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char cached[PATH_MAX];
    if (cache && *cache)
        snprintf(cached, sizeof(cached), "%s/ax/bin/nats-server", cache);
    else
        snprintf(cached, sizeof(cached), "%s/.cache/ax/bin/nats-server", home ? home : "");
    if (is_program(cached)) {
        snprintf(path, PATH_MAX, "%s", cached);
        return check(path, version, p);
    }
    /* What PATH has is too old and there is no other: p says so already. */
    if (on_path_error != AX_E_NOT_FOUND)
        return on_path_error;
    return problem_set(p, AX_E_NOT_FOUND,
                       "no nats-server found: set AX_NATS_SERVER, or put %s or newer on PATH (AX's "
                       "`make` fetches one)",
                       AX_MIN_SERVER);
}

ax_err program_find(const char *name, char path[PATH_MAX], struct problem *p)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0) {
        self[n] = '\0';
        *strrchr(self, '/') = '\0';
        if (snprintf(path, PATH_MAX, "%s/%s", self, name) < PATH_MAX && is_program(path))
            return AX_OK;
    }
    if (on_path(name, path))
        return AX_OK;
    return problem_set(p, AX_E_NOT_FOUND, "%s found neither beside ax nor on PATH", name);
}
