#include "cli/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/store/store_check.h"
#include "cli/store/store_file.h"

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
    /* A slash at the end would hide that the last name is a link. */
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    return true;
}

/* For nobody else, like the store itself. What fails is said by the last one. */
static ax_err make_directories(char path[PATH_MAX], struct problem *p)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return AX_OK;
    return problem_set(p, AX_E_IO, "--store: %s: %s", path, strerror(errno));
}

/* Opens the directory and says whether it may be used. */
static ax_err enter(struct store *s, const char *path, struct problem *p)
{
    ax_err err = store_check_link(path, p);
    if (err != AX_OK)
        return err;
    s->path = realpath(path, NULL);
    s->fd = s->path != NULL ? open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (s->fd < 0) {
        return problem_set(p, errno == ENOENT ? AX_E_NOT_FOUND : AX_E_IO, "--store: %s: %s", path,
                           strerror(errno));
    }
    err = store_check_parents(s->path, p);
    return err == AX_OK ? store_check_content(s->fd, s->path, p) : err;
}

/* Both kinds of lock: flock is what other versions look at, and the other kind can be asked for
 * without taking it (is_taken). */
static ax_err take(struct store *s, struct problem *p)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    ax_err err = store_file_open(s, STORE_LOCK, &s->lock_fd, p);
    if (err != AX_OK)
        return err;
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0 && fcntl(s->lock_fd, F_OFD_SETLK, &whole) == 0)
        return AX_OK;
    return problem_set(p, AX_E_EXISTS, "--store: %s is in use by another `ax up`", s->path);
}

static bool is_taken(const struct store *s)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = openat(s->fd, STORE_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool taken = fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return taken;
}

ax_err store_take(const char *given, struct store *s, struct problem *p)
{
    char path[PATH_MAX];
    *s = (struct store){.fd = -1, .lock_fd = -1};
    if (!choose(given, path)) {
        return problem_set(p, AX_E_INVALID,
                           "--store: not given, and neither XDG_DATA_HOME nor HOME is set");
    }
    ax_err err = make_directories(path, p);
    if (err == AX_OK)
        err = enter(s, path, p);
    return err == AX_OK ? take(s, p) : err;
}

ax_err store_look(const char *given, struct store *s, struct problem *p)
{
    char path[PATH_MAX];
    *s = (struct store){.fd = -1, .lock_fd = -1};
    if (!choose(given, path))
        return problem_set(p, AX_E_NOT_FOUND, "--store: not given");
    ax_err err = enter(s, path, p);
    if (err == AX_OK && !is_taken(s))
        err = problem_set(p, AX_E_NOT_FOUND, "--store: no `ax up` runs on %s", s->path);
    return err;
}

void store_close(struct store *s)
{
    if (s->fd >= 0)
        close(s->fd);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s->path);
    *s = (struct store){.fd = -1, .lock_fd = -1};
}
