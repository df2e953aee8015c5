#include "cli/store/store_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel's overflow uid: how a container shows files of users that it does not know. */
#define UNKNOWN_UID 65534
#define DEPTH_MAX 12

static bool is_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

static ax_err refuse(const char *path, const char *why, struct problem *p)
{
    return problem_set(p, AX_E_AUTH, "--store: %s %s", path, why);
}

static ax_err fail(const char *path, struct problem *p)
{
    return problem_set(p, AX_E_IO, "--store: %s: %s", path, strerror(errno));
}

ax_err store_check_link(const char *path, struct problem *p)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode) || is_trusted(st.st_uid))
        return AX_OK;
    return refuse(path, "is a symbolic link of another user; name the directory itself", p);
}

static ax_err check_parent(const char *path, struct problem *p)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return fail(path, p);
    if (!is_trusted(st.st_uid) && st.st_uid != UNKNOWN_UID) {
        return refuse(path,
                      "belongs to another user, who could put another store there; choose "
                      "another --store",
                      p);
    }
    if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0) {
        return refuse(path,
                      "can be written by everybody, who could put another store there: chmod "
                      "o-w, or choose another --store",
                      p);
    }
    return AX_OK;
}

ax_err store_check_parents(const char *real_path, struct problem *p)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", real_path);
    ax_err err = check_parent("/", p);
    for (char *slash = strchr(path + 1, '/'); err == AX_OK && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        err = check_parent(path, p);
        *slash = '/';
    }
    return err;
}

/* The store, or something in it. */
static ax_err check_one(const struct stat *st, const char *path, struct problem *p)
{
    if (S_ISLNK(st->st_mode))
        return refuse(path, "is a symbolic link, and ax follows none in its store: remove it", p);
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return refuse(path, "is neither a file nor a directory: remove it", p);
    if (!is_trusted(st->st_uid))
        return refuse(path, "belongs to another user: chown it, or choose another --store", p);
    if (S_ISDIR(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse(path, "can be written by others: chmod go-w, or choose another --store", p);
    return AX_OK;
}

static ax_err check_entries(int fd, const char *path, int depth, struct problem *p);

static ax_err check_entry(int dir_fd, const char *name, const char *path, int depth,
                          struct problem *p)
{
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) /* a running server's may have gone */
        return errno == ENOENT ? AX_OK : fail(path, p);
    ax_err err = check_one(&st, path, p);
    if (err != AX_OK || !S_ISDIR(st.st_mode))
        return err;
    if (depth == DEPTH_MAX)
        return refuse(path, "lies deeper than anything that nats-server keeps: remove it", p);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? AX_OK : fail(path, p);
    return check_entries(fd, path, depth + 1, p);
}

/* fd: taken. */
static ax_err check_entries(int fd, const char *path, int depth, struct problem *p)
{
    char entry[PATH_MAX + NAME_MAX + 2];
    ax_err err = AX_OK;
    struct dirent *e;
    DIR *d = fdopendir(fd);
    if (d == NULL) {
        err = fail(path, p);
        close(fd);
        return err;
    }
    while (err == AX_OK && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(entry, sizeof(entry), "%s/%s", path, e->d_name);
        err = check_entry(dirfd(d), e->d_name, entry, depth, p);
    }
    closedir(d);
    return err;
}

ax_err store_check_content(int fd, const char *path, struct problem *p)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(path, p);
    ax_err err = check_one(&st, path, p);
    if (err != AX_OK)
        return err;
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return again >= 0 ? check_entries(again, path, 0, p) : fail(path, p);
}
