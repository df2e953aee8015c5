#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/url.h"

/* All that are kept: reachable, so that nothing counts as leaked. */
struct kept {
    struct kept *next;
    char text[];
};
static struct kept *all;

const char *secret_keep(const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct kept *k = malloc(sizeof(*k) + bytes);
    if (k == NULL)
        return NULL;
    memcpy(k->text, text, bytes);
    k->next = all;
    all = k;
    return k->text;
}

const char *secret_take(char *text)
{
    const char *copy = secret_keep(text);
    memset(text, 'x', strlen(text));
    return copy;
}

const char *secret_take_urls(char *text)
{
    const char *copy = secret_keep(text);
    url_blank(text);
    return copy;
}

/* ---- files */

const char *secret_credential(const char *name)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    char path[PATH_MAX];
    if (directory == NULL || *directory == '\0')
        return NULL;
    int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
    return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0 ? secret_keep(path) : NULL;
}

static ax_err refuse(const char *path, const char *why, struct problem *p)
{
    return problem_set(p, AX_E_INVALID, "%.256s: %s", path, why);
}

static ax_err fail(const char *path, struct problem *p)
{
    return problem_set(p, AX_E_IO, "%.256s: %s", path, strerror(errno));
}

static ax_err check_mode(const char *path, int fd, struct problem *p)
{
    char quoted[300];
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(path, p);
    if (S_ISDIR(st.st_mode))
        return refuse(path, "is a directory", p);
    if (S_ISREG(st.st_mode) && (st.st_mode & S_IWOTH) != 0)
        return refuse(path, "everybody can write it; its mode should be 0600", p);
    if (S_ISREG(st.st_mode) && (st.st_mode & S_IROTH) != 0) {
        log_warn("everybody can read this secret; its mode should be 0600", "file=%s",
                 log_quote(path, quoted, sizeof(quoted)));
    }
    return AX_OK;
}

/* The bytes read; -1: errno says why. */
static ssize_t read_all(int fd, char *buf, size_t cap)
{
    size_t used = 0;
    while (used < cap) {
        ssize_t n = read(fd, buf + used, cap - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

/* Cuts off the line break at the end. */
static ax_err check_content(const char *path, char *buf, size_t bytes, struct problem *p)
{
    if (bytes > SECRET_MAX_BYTES)
        return refuse(path, "holds more than a secret: 4095 bytes are allowed", p);
    if (bytes > 0 && buf[bytes - 1] == '\n')
        bytes--;
    if (bytes > 0 && buf[bytes - 1] == '\r')
        bytes--;
    buf[bytes] = '\0';
    if (bytes == 0)
        return refuse(path, "is empty", p);
    if (strcspn(buf, "\r\n") != bytes)
        return refuse(path, "must hold one line", p);
    return AX_OK;
}

ax_err secret_read(const char *path, char buf[SECRET_MAX_BYTES + 1], struct problem *p)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(path, p);
    ax_err err = check_mode(path, fd, p);
    if (err == AX_OK) {
        ssize_t bytes = read_all(fd, buf, SECRET_MAX_BYTES + 1);
        err = bytes < 0 ? fail(path, p) : check_content(path, buf, (size_t)bytes, p);
    }
    close(fd);
    return err;
}
