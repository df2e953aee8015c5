#include "cli/up/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* False: neither given nor known. */
static bool choose(const char *given, char path[PATH_MAX])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (given != NULL)
        snprintf(path, PATH_MAX, "%s", given);
    else if (data != NULL && data[0] != '\0')
        snprintf(path, PATH_MAX, "%s/ax", data);
    else if (home != NULL && home[0] != '\0')
        snprintf(path, PATH_MAX, "%s/.local/share/ax", home);
    else
        return false;
    return true;
}

/* False: errno. */
static bool make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static int take(const char *path, int *lock_fd)
{
    char lock[PATH_MAX + 16];
    snprintf(lock, sizeof(lock), "%s/ax.lock", path);
    *lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*lock_fd < 0)
        return say(CLI_FAILED, "--store: %s: %s", lock, strerror(errno));
    if (flock(*lock_fd, LOCK_EX | LOCK_NB))
        return say(CLI_FAILED, "--store: %s is in use by another `ax up`", path);
    return CLI_OK;
}

int store_open(const char *given, char **path, int *lock_fd)
{
    char wanted[PATH_MAX];
    if (!choose(given, wanted))
        return say(CLI_USAGE, "--store: not given, and neither XDG_DATA_HOME nor HOME is set");
    *path = make_directories(wanted) ? realpath(wanted, NULL) : NULL;
    if (*path == NULL)
        return say(CLI_FAILED, "--store: %s: %s", wanted, strerror(errno));
    return take(*path, lock_fd);
}
