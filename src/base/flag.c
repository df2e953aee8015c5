#include "base/flag.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "base/text/duration.h"
#include "base/text/nearest.h"
#include "base/text/size.h"
#include "base/text/subject.h"

/* ---- values ---- */

static bool is_word(const char *words, const char *value)
{
    size_t n = strlen(value);
    for (const char *w = words; n > 0 && w != NULL; w = strchr(w, '|'), w = w ? w + 1 : NULL) {
        if (strncmp(w, value, n) == 0 && (w[n] == '|' || w[n] == '\0'))
            return true;
    }
    return false;
}

static bool parse_switch(const char *value, bool *out)
{
    *out = is_word("1|true|yes|on", value);
    return *out || is_word("0|false|no|off", value);
}

static bool parse_number(const struct flag_row *row, const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (*value == '\0' || strspn(value, "-0123456789") != strlen(value) || *end != '\0' ||
        errno != 0 || n < row->flag.min || n > row->flag.max ||
        (row->words != NULL && !is_word(row->words, value)))
        return false;
    *out = n;
    return true;
}

static bool parse_duration(const struct flag *f, const char *value, int64_t *out)
{
    int64_t ms;
    if (!duration_parse(value, f->max, &ms) || ms < f->min)
        return false;
    *out = ms;
    return true;
}

static ax_err refuse(const char *given, const char *value, const char *allowed, struct problem *p)
{
    return problem_set(p, AX_E_INVALID, "%s: \"%.64s\" is not allowed; it must be %s", given, value,
                       allowed);
}

static ax_err refuse_words(const struct flag_row *row, const char *given, const char *value,
                           struct problem *p)
{
    char allowed[192], found[64], hint[96];
    struct nearest near = {.word = value};
    nearest_offer_words(&near, row->words, found, sizeof(found));
    snprintf(allowed, sizeof(allowed), "one of %s%s", row->words,
             nearest_text(&near, "", hint, sizeof(hint)));
    return refuse(given, value, allowed, p);
}

static ax_err store_number(const struct flag_row *row, const char *given, const char *value,
                           struct problem *p)
{
    char allowed[96];
    if (parse_number(row, value, row->flag.target))
        return AX_OK;
    if (row->words != NULL)
        return refuse_words(row, given, value, p);
    snprintf(allowed, sizeof(allowed), "a whole number from %" PRId64 " to %" PRId64, row->flag.min,
             row->flag.max);
    return refuse(given, value, allowed, p);
}

static ax_err store_duration(const struct flag *f, const char *given, const char *value,
                             struct problem *p)
{
    char allowed[128], least[48], most[48];
    if (value == NULL) {
        *(int64_t *)f->target = f->max;
        return AX_OK;
    }
    if (parse_duration(f, value, f->target))
        return AX_OK;
    snprintf(allowed, sizeof(allowed), "a duration from %s to %s, such as 500ms, 30s or 1h30m",
             duration_format(f->min, least), duration_format(f->max, most));
    return refuse(given, value, allowed, p);
}

static ax_err store_size(const struct flag *f, const char *given, const char *value,
                         struct problem *p)
{
    char allowed[128], least[24], most[24];
    int64_t bytes;
    if (size_parse(value, f->max, &bytes) && bytes >= f->min) {
        *(int64_t *)f->target = bytes;
        return AX_OK;
    }
    snprintf(allowed, sizeof(allowed), "a size from %s to %s, such as 64MiB or 1GiB",
             size_format(f->min, least), size_format(f->max, most));
    return refuse(given, value, allowed, p);
}

static ax_err add_to_list(const struct flag *f, const char *value, struct problem *p)
{
    struct flag_list *list = f->target;
    if (list->count == FLAG_LIST_MAX) {
        return problem_set(p, AX_E_INVALID, "--%s: given more than %d times", f->name,
                           FLAG_LIST_MAX);
    }
    list->values[list->count++] = value;
    return AX_OK;
}

static bool is_inbox_prefix(void *arg, const char *item, size_t chars)
{
    (void)arg;
    return subject_is_inbox_prefix(item, chars);
}

static ax_err store_inboxes(const struct flag *f, const char *given, const char *value,
                            struct problem *p)
{
    bool is_list = f->kind == FLAG_INBOXES;
    if (is_list ? !subject_list_each(value, is_inbox_prefix, NULL)
                : !subject_is_inbox_prefix(value, strlen(value))) {
        return refuse(given, value,
                      is_list ? "prefixes of inboxes with commas, such as _INBOX_a,_INBOX_b: each "
                                "of 1 to 48 characters, not of ax, $, _R_ or _GR_, no wildcards"
                              : "the prefix of inboxes, such as _INBOX_a: 1 to 48 characters, not "
                                "of ax, $, _R_ or _GR_, no wildcards",
                      p);
    }
    *(const char **)f->target = value;
    return AX_OK;
}

ax_err flag_store(const struct flag_row *row, const char *given, const char *value,
                  struct problem *p)
{
    const struct flag *f = &row->flag;
    switch (f->kind) {
    case FLAG_BOOL:
    case FLAG_STOP:
        return parse_switch(value, f->target)
                   ? AX_OK
                   : refuse(given, value, "one of 1|true|yes|on|0|false|no|off", p);
    case FLAG_TEXT:
    case FLAG_HIDE:
    case FLAG_URLS:
        if (row->variable != NULL && *value == '\0')
            return problem_set(p, AX_E_INVALID, "%s: an empty value is not allowed", given);
        break;
    case FLAG_CHOICE:
        if (!is_word(row->words, value))
            return refuse_words(row, given, value, p);
        break;
    case FLAG_INT:
        return store_number(row, given, value, p);
    case FLAG_MS:
    case FLAG_OPTIONAL_MS:
        return store_duration(f, given, value, p);
    case FLAG_BYTES:
        return store_size(f, given, value, p);
    case FLAG_LIST:
        return add_to_list(f, value, p);
    case FLAG_INBOX:
    case FLAG_INBOXES:
        return store_inboxes(f, given, value, p);
    }
    *(const char **)f->target = value;
    return AX_OK;
}

/* ---- command line ---- */

/* What is left to read. */
struct reading {
    int next, argc;
    char **argv;
};

/* arg: "--name", "--name=value", "-n" or "-nvalue". *value: within arg; NULL: none. */
static const struct flag_row *find_row(const struct flag_row *rows, int count, char *arg,
                                       char **value)
{
    bool is_long = arg[1] == '-';
    size_t chars = strcspn(arg + 2, "=");
    for (int i = 0; i < count; i++) {
        const char *name = rows[i].flag.name;
        if (is_long && strlen(name) == chars && memcmp(name, arg + 2, chars) == 0) {
            *value = arg[2 + chars] == '=' ? arg + 2 + chars + 1 : NULL;
            return &rows[i];
        }
        if (!is_long && rows[i].letter != '\0' && rows[i].letter == arg[1]) {
            *value = arg[2] != '\0' ? arg + 2 : NULL;
            return &rows[i];
        }
    }
    return NULL;
}

/* Without the value, which may be a secret. */
static int name_chars(const char *arg)
{
    size_t n = strcspn(arg, "=");
    return n < 64 ? (int)n : 64;
}

static ax_err refuse_flag(const struct flag_row *rows, int count, const char *arg,
                          struct problem *p)
{
    char name[65], hint[96];
    struct nearest near = {.word = name + 2};
    snprintf(name, sizeof(name), "%.*s", name_chars(arg), arg);
    for (int i = 0; i < count && strncmp(name, "--", 2) == 0; i++)
        nearest_offer(&near, rows[i].flag.name);
    return problem_set(p, AX_E_INVALID, "%s: no such flag%s; see --help", name,
                       nearest_text(&near, "--", hint, sizeof(hint)));
}

static ax_err store_hidden(const struct flag_row *row, const char *given, char *value,
                           struct problem *p)
{
    const char *copy = row->flag.kind == FLAG_URLS ? secret_take_urls(value) : secret_take(value);
    if (copy == NULL)
        return problem_set(p, AX_E_NOMEM, "%s: %s", given, ax_err_text(AX_E_NOMEM));
    return flag_store(row, given, copy, p);
}

static ax_err take_flag(const struct flag_row *rows, int count, struct reading *in,
                        struct problem *p)
{
    static char yes[] = "1";
    char *arg = in->argv[in->next++], *value = NULL;
    char given[64];
    const struct flag_row *row = find_row(rows, count, arg, &value);
    if (row == NULL)
        return refuse_flag(rows, count, arg, p);
    snprintf(given, sizeof(given), "--%s", row->flag.name);
    if (row->flag.kind == FLAG_BOOL || row->flag.kind == FLAG_STOP) {
        if (value != NULL) {
            return problem_set(p, AX_E_INVALID, "%s: takes no value, given \"%.64s\"", given,
                               value);
        }
        value = yes;
    } else if (value == NULL && row->flag.kind != FLAG_OPTIONAL_MS) {
        if (in->next == in->argc)
            return problem_set(p, AX_E_INVALID, "%s: needs a value (%s)", arg, row->flag.value);
        value = in->argv[in->next++];
    }
    if (row->flag.kind == FLAG_HIDE || row->flag.kind == FLAG_URLS)
        return store_hidden(row, given, value, p);
    ax_err err = flag_store(row, given, value, p);
    return err == AX_OK && row->flag.kind == FLAG_STOP ? AX_E_CLOSED : err;
}

ax_err flag_parse(const struct flag_row *rows, int count, bool stop_at_first, int *argc,
                  char **argv, struct problem *p)
{
    struct reading in = {0, *argc, argv};
    int kept = 0;
    bool only_words = false;
    while (in.next < in.argc) {
        char *arg = argv[in.next];
        if (only_words || arg[0] != '-' || arg[1] == '\0') {
            argv[kept++] = arg;
            in.next++;
            only_words = only_words || stop_at_first;
        } else if (strcmp(arg, "--") == 0) {
            only_words = true;
            in.next++;
        } else {
            ax_err err = take_flag(rows, count, &in, p);
            if (err != AX_OK)
                return err;
        }
    }
    *argc = kept;
    return AX_OK;
}

/* ---- help ---- */

static void print_limits(const struct flag_row *row)
{
    const struct flag *f = &row->flag;
    char least[48], most[48];
    printf(" (%s", row->variable);
    if (row->words != NULL) {
        printf("; %s", row->words);
    } else if (f->kind == FLAG_INT) {
        printf("; %" PRId64 " to %" PRId64, f->min, f->max);
    } else if (f->kind == FLAG_MS) {
        printf("; %s to %s", duration_format(f->min, least), duration_format(f->max, most));
    }
    if (row->standard != NULL)
        printf("; default %s", row->standard);
    printf(")");
}

void flag_print(const struct flag_row *row, bool with_letter)
{
    const struct flag *f = &row->flag;
    bool is_optional = f->kind == FLAG_OPTIONAL_MS;
    char left[80], letter[8] = "";
    if (with_letter)
        snprintf(letter, sizeof(letter), row->letter != '\0' ? "-%c, " : "    ", row->letter);
    snprintf(left, sizeof(left), "%s--%s%s%s%s", letter, f->name,
             is_optional ? "[="
             : f->value  ? " "
                         : "",
             f->value != NULL ? f->value : "", is_optional ? "]" : "");
    printf("  %-*s %s", with_letter ? 28 : 24, left, f->help);
    if (row->variable != NULL)
        print_limits(row);
    printf("\n");
}
