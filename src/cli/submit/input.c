#include "cli/submit/input.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define READ_BYTES 65536
#define LINE_MAX_BYTES (64 << 20)

/* Reads to the end of in; false: failed, after saying why. path: for what is said. */
static bool read_stream(FILE *in, const char *path, char **data, size_t *bytes)
{
    size_t cap = 0, n;
    do {
        if (*bytes == cap) {
            cap = cap > 0 ? cap * 2 : READ_BYTES;
            char *larger = cap > INT32_MAX ? NULL : realloc(*data, cap);
            if (larger == NULL) {
                say(CLI_FAILED, "the body is too large for memory or for a message");
                return false;
            }
            *data = larger;
        }
        n = fread(*data + *bytes, 1, cap - *bytes, in);
        *bytes += n;
    } while (n > 0);
    if (ferror(in))
        say(CLI_FAILED, "%s: %s", path != NULL ? path : "stdin", strerror(errno));
    return !ferror(in);
}

char *input_read_all(const char *path, size_t *bytes)
{
    FILE *in = path != NULL ? fopen(path, "rb") : stdin;
    char *data = NULL;
    *bytes = 0;
    if (in == NULL) {
        say(CLI_FAILED, "--file: %s: %s", path, strerror(errno));
        return NULL;
    }
    if (!read_stream(in, path, &data, bytes)) {
        free(data);
        data = NULL;
    }
    if (path != NULL)
        fclose(in);
    return data;
}

/* A line that has been read whole, or the rest of an input that has ended. */
static bool take_line(struct input *in, char **text, size_t *bytes)
{
    char *start = in->data + in->taken;
    size_t left = in->filled - in->taken;
    char *newline = left > 0 ? memchr(start, '\n', left) : NULL;
    if (newline == NULL && (!in->ended || left == 0))
        return false;
    *text = start;
    *bytes = newline != NULL ? (size_t)(newline - start) : left;
    start[*bytes] = '\0';
    in->taken += *bytes + (newline != NULL);
    return true;
}

/* Room for READ_BYTES and a NUL behind what is there. */
static bool make_room(struct input *in)
{
    if (in->taken > 0) {
        memmove(in->data, in->data + in->taken, in->filled - in->taken);
        in->filled -= in->taken;
        in->taken = 0;
    }
    if (in->cap - in->filled >= READ_BYTES + 1)
        return true;
    if (in->filled > LINE_MAX_BYTES) {
        say(CLI_FAILED, "stdin: a line is longer than 64 MiB, which no server takes");
        in->ended = in->failed = true;
        in->filled = 0;
        return true;
    }
    size_t cap = in->cap * 2 + READ_BYTES + 1;
    char *larger = realloc(in->data, cap);
    if (larger == NULL)
        return false;
    in->data = larger;
    in->cap = cap;
    return true;
}

/* What a read has brought; false: nothing. */
static bool read_more(struct input *in)
{
    ssize_t n = read(STDIN_FILENO, in->data + in->filled, READ_BYTES);
    if (n > 0)
        in->filled += (size_t)n;
    else if (n == 0 || errno != EINTR)
        in->ended = true;
    if (n < 0 && errno != EINTR) {
        say(CLI_FAILED, "stdin: %s", strerror(errno));
        in->failed = true;
    }
    return n > 0;
}

enum input_result input_next(struct input *in, int wait_ms, char **text, size_t *bytes)
{
    for (;; wait_ms = 0) {
        if (take_line(in, text, bytes))
            return INPUT_LINE;
        if (in->ended)
            return INPUT_END;
        if (!make_room(in)) {
            say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
            in->ended = in->failed = true;
            return INPUT_END;
        }
        struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&ready, 1, wait_ms) <= 0 || !read_more(in))
            return INPUT_NONE_YET;
    }
}

void input_free(struct input *in)
{
    free(in->data);
    *in = (struct input){0};
}
