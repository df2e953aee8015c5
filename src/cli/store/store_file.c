#include "cli/store/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pipes do not hold up whoever opens them. */
#define FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define SUFFIX ".new"

static ax_err refuse(const struct store *s, const char *name, const char *why, struct problem *p)
{
    return problem_set(p, AX_E_AUTH, "--store: %s/%s %s", s->path, name, why);
}

static ax_err fail(const struct store *s, const char *name, struct problem *p)
{
    if (errno == ELOOP) {
        return refuse(s, name, "is a symbolic link, and ax follows none in its store: remove it",
                      p);
    }
    return problem_set(p, errno == ENOENT ? AX_E_NOT_FOUND : AX_E_IO, "--store: %s/%s: %s", s->path,
                       name, strerror(errno));
}

/* An open file of the store, made by this user or root and by no other. secret: not to be read by
 * others either. */
static ax_err check(const struct store *s, const char *name, int fd, bool secret, struct problem *p)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(s, name, p);
    if (!S_ISREG(st.st_mode))
        return refuse(s, name, "is no file: remove it", p);
    if (st.st_nlink > 1)
        return refuse(s, name, "has another name elsewhere (a hard link): remove it", p);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return refuse(s, name, "belongs to another user", p);
    if (secret && (st.st_mode & 077) != 0)
        return refuse(s, name, "can be read or written by others: chmod 600, or remove it", p);
    return AX_OK;
}

ax_err store_file_open(const struct store *s, const char *name, int *fd, struct problem *p)
{
    *fd = openat(s->fd, name, O_RDWR | O_CREAT | FLAGS, 0600);
    if (*fd < 0)
        return fail(s, name, p);
    ax_err err = check(s, name, *fd, false, p);
    if (err == AX_OK && fchmod(*fd, 0600) != 0)
        err = fail(s, name, p);
    if (err == AX_OK)
        return AX_OK;
    close(*fd);
    *fd = -1;
    return err;
}

/* Closes fd. False: errno. */
static bool put(int fd, const char *text)
{
    size_t bytes = strlen(text);
    bool right = ftruncate(fd, 0) == 0 && write(fd, text, bytes) == (ssize_t)bytes &&
                 fsync(fd) == 0;
    int why = errno;
    right = close(fd) == 0 && right;
    errno = why;
    return right;
}

ax_err store_file_write(const struct store *s, const char *name, const char *text,
                        struct problem *p)
{
    int fd;
    ax_err err = store_file_open(s, name, &fd, p);
    if (err == AX_OK && !put(fd, text))
        err = fail(s, name, p);
    return err;
}

ax_err store_file_create(const struct store *s, const char *name, const char *text,
                         struct problem *p)
{
    char unfinished[64];
    snprintf(unfinished, sizeof(unfinished), "%s" SUFFIX, name);
    unlinkat(s->fd, unfinished, 0); /* of a start that was killed */
    int fd = openat(s->fd, unfinished, O_WRONLY | O_CREAT | O_EXCL | FLAGS, 0600);
    if (fd < 0 || !put(fd, text))
        return fail(s, unfinished, p);
    return renameat(s->fd, unfinished, s->fd, name) == 0 ? AX_OK : fail(s, name, p);
}

ax_err store_file_read_secret(const struct store *s, const char *name, char *buf, size_t cap,
                              struct problem *p)
{
    int fd = openat(s->fd, name, O_RDONLY | FLAGS);
    if (fd < 0)
        return fail(s, name, p);
    ax_err err = check(s, name, fd, true, p);
    ssize_t bytes = err == AX_OK ? read(fd, buf, cap) : 0;
    if (bytes < 0)
        err = fail(s, name, p);
    else if ((size_t)bytes == cap)
        err = problem_set(p, AX_E_TOO_LONG, "--store: %s/%s is too long", s->path, name);
    close(fd);
    if (err == AX_OK) {
        buf[bytes] = '\0';
        buf[strcspn(buf, "\r\n")] = '\0';
    }
    return err;
}

void store_file_remove(const struct store *s, const char *name)
{
    unlinkat(s->fd, name, 0);
}
