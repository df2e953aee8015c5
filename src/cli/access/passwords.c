#include "cli/access/passwords.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "cli/access/users.h"

#define PASSWORD_CHARS RANDOM_NAME_MAX_CHARS
#define PASSWORD_MIN_CHARS 16
#define NEW_FILE PASSWORDS_FILE ".new"

struct folder {
    const char *path;
    int fd;
    struct problem *p;
};

static ax_err failed(const struct folder *f, const char *file)
{
    return problem_set(f->p, AX_E_IO, "--passwords: %s%s%s: %s", f->path, file[0] ? "/" : "", file,
                       strerror(errno));
}

static ax_err open_folder(struct folder *f)
{
    struct stat st;
    if (mkdir(f->path, 0700) != 0 && errno != EEXIST)
        return failed(f, "");
    f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &st) != 0)
        return failed(f, "");
    if ((st.st_mode & 022) != 0 || st.st_uid != geteuid()) {
        return problem_set(f->p, AX_E_INVALID,
                           "--passwords: %s can be changed by others; it must be yours, and "
                           "writable for nobody else",
                           f->path);
    }
    return AX_OK;
}

/* A new file, 0600; it did not exist. */
static ax_err write_new(const struct folder *f, const char *file, const char *text)
{
    int fd = openat(f->fd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(f, file);
    size_t bytes = strlen(text), written = 0;
    while (written < bytes) {
        ssize_t n = write(fd, text + written, bytes - written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        written += (size_t)n;
    }
    bool ok = written == bytes && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    return ok ? AX_OK : failed(f, file);
}

static bool is_password(const char *text)
{
    size_t chars = strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-");
    return chars >= PASSWORD_MIN_CHARS && text[chars] == '\0';
}

/* AX_E_NOT_FOUND: there is no such file. */
static ax_err read_old(const struct folder *f, const char *file, char out[PASSWORD_CHARS + 2])
{
    struct stat st;
    int fd = openat(f->fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? AX_E_NOT_FOUND : failed(f, file);
    bool is_private = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) == 0;
    ssize_t n = is_private ? read(fd, out, PASSWORD_CHARS + 1) : 0;
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (!is_private) {
        return problem_set(f->p, AX_E_INVALID,
                           "--passwords: %s/%s must be a file that only you can read (mode 0600)",
                           f->path, file);
    }
    if (!is_password(out)) {
        return problem_set(f->p, AX_E_INVALID,
                           "--passwords: %s/%s holds no password; it must be %d to %d of A-Z a-z "
                           "0-9 _ - (removed, it is made anew)",
                           f->path, file, PASSWORD_MIN_CHARS, PASSWORD_CHARS);
    }
    return AX_OK;
}

static ax_err take_password(const struct folder *f, const char *user, char out[PASSWORD_CHARS + 2])
{
    ax_err err = read_old(f, user, out);
    if (err != AX_E_NOT_FOUND)
        return err;
    random_name(out, PASSWORD_CHARS);
    strcpy(out + PASSWORD_CHARS, "\n");
    err = write_new(f, user, out);
    out[PASSWORD_CHARS] = '\0';
    return err;
}

/* The whole file appears at once, so a server that starts now reads all of the old or the new. */
static ax_err write_variables(const struct folder *f, const char *text)
{
    if (unlinkat(f->fd, NEW_FILE, 0) != 0 && errno != ENOENT)
        return failed(f, NEW_FILE);
    ax_err err = write_new(f, NEW_FILE, text);
    if (err == AX_OK && renameat(f->fd, NEW_FILE, f->fd, PASSWORDS_FILE) != 0)
        err = failed(f, PASSWORDS_FILE);
    return err;
}

static ax_err make(const struct folder *f, const struct user *users, int count, FILE *text)
{
    char variable[USERS_VARIABLE_MAX_CHARS], password[PASSWORD_CHARS + 2];
    for (int i = 0; i < count; i++) {
        ax_err err = take_password(f, users[i].name, password);
        if (err != AX_OK)
            return err;
        users_variable(&users[i], variable);
        fprintf(text, "%s: \"%s\"\n", variable, password);
    }
    return AX_OK;
}

ax_err passwords_make(const char *directory, const struct user *users, int count, struct problem *p)
{
    struct folder f = {.path = directory, .fd = -1, .p = p};
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (memory == NULL)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    ax_err err = open_folder(&f);
    if (err == AX_OK)
        err = make(&f, users, count, memory);
    bool ok = fclose(memory) == 0;
    if (err == AX_OK)
        err = ok ? write_variables(&f, text) : problem_set(p, AX_E_NOMEM, "out of memory");
    if (text != NULL)
        explicit_bzero(text, bytes);
    free(text);
    if (f.fd >= 0)
        close(f.fd);
    return err;
}
