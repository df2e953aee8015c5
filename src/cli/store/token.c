#include "cli/store/token.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "cli/store/store_file.h"

#define NEW_CHARS RANDOM_NAME_MAX_CHARS

static bool is_right(const char *token)
{
    size_t n = strlen(token);
    return n >= TOKEN_MIN_CHARS && n <= TOKEN_MAX_CHARS &&
           strspn(token, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-") == n;
}

ax_err token_take(const struct store *s, char token[TOKEN_MAX_CHARS + 1], struct problem *p)
{
    char line[TOKEN_MAX_CHARS + 3];
    ax_err err = store_file_read_secret(s, STORE_TOKEN, line, sizeof(line), p);
    if (err == AX_E_NOT_FOUND) {
        random_name(line, NEW_CHARS);
        strcpy(token, line);
        strcat(line, "\n");
        err = store_file_create(s, STORE_TOKEN, line, p);
        explicit_bzero(line, sizeof(line));
        return err;
    }
    if (err == AX_OK && is_right(line)) {
        strcpy(token, line);
        explicit_bzero(line, sizeof(line));
        return AX_OK;
    }
    if (err != AX_OK && err != AX_E_TOO_LONG)
        return err;
    return problem_set(p, AX_E_INVALID,
                       "--store: %s/" STORE_TOKEN " is no token: %d to %d of 0-9 A-Z a-z _ - are "
                       "allowed. Without the file a new one is made",
                       s->path, TOKEN_MIN_CHARS, TOKEN_MAX_CHARS);
}
