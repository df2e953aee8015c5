#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"

/* Flags that belong to the connection and are accepted after the command as well. */
static const char *const common_flags[] = {"server",  "creds",  "user",      "password", "tlsca",
                                           "tlscert", "tlskey", "log-level", "replicas"};

static char server_flag[] = "--server";

static bool is_common(const char *name, size_t chars)
{
    for (size_t i = 0; i < sizeof(common_flags) / sizeof(common_flags[0]); i++) {
        if (strlen(common_flags[i]) == chars && memcmp(common_flags[i], name, chars) == 0)
            return true;
    }
    return false;
}

static const struct flag *find_flag(const struct flag *flags, int count, const char *name,
                                    size_t chars)
{
    for (int i = 0; i < count; i++) {
        if (strlen(flags[i].name) == chars && memcmp(flags[i].name, name, chars) == 0)
            return &flags[i];
    }
    return NULL;
}

static void print_help(struct cli *c, const struct flag *flags, int count)
{
    printf("%s\n\nusage: ax %s %s\n", c->command->summary, c->command->name, c->command->args);
    if (count > 0)
        printf("\n");
    for (int i = 0; i < count; i++) {
        char left[64];
        if (flags[i].kind == FLAG_BOOL)
            snprintf(left, sizeof(left), "--%s", flags[i].name);
        else if (flags[i].kind == FLAG_OPTIONAL_MS)
            snprintf(left, sizeof(left), "--%s[=%s]", flags[i].name, flags[i].value);
        else
            snprintf(left, sizeof(left), "--%s %s", flags[i].name, flags[i].value);
        printf("  %-24s %s\n", left, flags[i].help);
    }
    if (c->command->detail)
        printf("\n%s\n", c->command->detail);
    printf("\nFlags of the connection (--server …): see `ax help`.\n");
}

static int set_flag(const struct flag *f, const char *value)
{
    int64_t number = 0;
    switch (f->kind) {
    case FLAG_BOOL:
        if (value)
            return say(CLI_USAGE, "--%s takes no value, given %s", f->name, value);
        *(bool *)f->target = true;
        return -1;
    case FLAG_TEXT:
        *(const char **)f->target = value;
        return -1;
    case FLAG_INT: {
        char *end = NULL;
        errno = 0;
        number = strtoll(value, &end, 10);
        if (errno || end == value || *end || number < f->min || number > f->max) {
            return say(CLI_USAGE, "--%s: %s given, allowed is a number from %lld to %lld", f->name,
                       value, (long long)f->min, (long long)f->max);
        }
        *(int64_t *)f->target = number;
        return -1;
    }
    case FLAG_OPTIONAL_MS:
        if (!value) {
            *(int64_t *)f->target = f->max;
            return -1;
        }
        /* fall through */
    case FLAG_MS:
        if (!clock_parse_duration(value, f->max, &number) || number < f->min) {
            return say(CLI_USAGE,
                       "--%s: %s given, allowed is a duration such as 500ms, 30s or 1h30m", f->name,
                       value);
        }
        *(int64_t *)f->target = number;
        return -1;
    case FLAG_LIST: {
        struct flag_list *list = f->target;
        if (list->count == FLAG_LIST_MAX)
            return say(CLI_USAGE, "--%s: given more than %d times", f->name, FLAG_LIST_MAX);
        list->values[list->count++] = value;
        return -1;
    }
    }
    return CLI_USAGE;
}

int args_parse(struct cli *c, const struct flag *flags, int flag_count, int min, int max)
{
    if (c->help) {
        print_help(c, flags, flag_count);
        return CLI_OK;
    }
    int kept = 0;
    bool only_positional = false;
    for (int i = 0; i < c->argc; i++) {
        char *arg = c->argv[i];
        if (only_positional || arg[0] != '-' || arg[1] == '\0') {
            c->argv[kept++] = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_positional = true;
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            print_help(c, flags, flag_count);
            return CLI_OK;
        }
        const char *name = arg + (strncmp(arg, "--", 2) == 0 ? 2 : 1);
        size_t chars = strcspn(name, "=");
        const char *value = name[chars] == '=' ? name + chars + 1 : NULL;
        const struct flag *f = arg[1] == '-' ? find_flag(flags, flag_count, name, chars) : NULL;
        if (f) {
            if (!value && f->kind != FLAG_BOOL && f->kind != FLAG_OPTIONAL_MS) {
                if (i + 1 == c->argc)
                    return say(CLI_USAGE, "--%s needs a value (%s)", f->name, f->value);
                value = c->argv[++i];
            }
            int code = set_flag(f, value);
            if (code >= 0)
                return code;
        } else if (is_common(name, chars) || strcmp(arg, "-s") == 0) {
            c->globals[c->global_count++] = strcmp(arg, "-s") == 0 ? server_flag : arg;
            if (!value) {
                if (i + 1 == c->argc)
                    return say(CLI_USAGE, "%s needs a value", arg);
                c->globals[c->global_count++] = c->argv[++i];
            }
        } else {
            return say(CLI_USAGE, "%s: `ax %s` knows no such flag; see `ax help %s`", arg,
                       c->command->name, c->command->name);
        }
    }
    c->argc = kept;
    if (kept < min || kept > max)
        return say(CLI_USAGE, "usage: ax %s %s", c->command->name, c->command->args);

    int first = 0;
    struct problem p = {0};
    ax_err e = options_parse(&c->options, FOR_AX, c->global_count, c->globals, true, &first, &p);
    if (e)
        return say(CLI_USAGE, "%s", p.text);
    return -1;
}
