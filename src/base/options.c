#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum kind {
    TEXT,     /* any */
    CHOICE,   /* text, one of the words in `words` */
    NUMBER,   /* min … max; with `words`, one of those numbers */
    DURATION, /* as clock_parse_duration reads it, min … max milliseconds */
    SWITCH,   /* flag without argument; in the environment 1/0, true/false, yes/no, on/off */
};

/* field, flag, short flag (0: none), environment, kind, min, max, words, default, argument,
 * programs, help */
#define OPTIONS(X)                                                                                 \
    X(server, "server", 's', "NATS_URL", TEXT, 0, 0, NULL, NULL, "URL", FOR_ALL,                   \
      "NATS server, several with commas (nats://127.0.0.1:4222)")                                  \
    X(creds, "creds", 0, "NATS_CREDS", TEXT, 0, 0, NULL, NULL, "FILE", FOR_ALL,                    \
      "credentials file")                                                                          \
    X(user, "user", 0, "NATS_USER", TEXT, 0, 0, NULL, NULL, "NAME", FOR_ALL,                       \
      "user name, or token without password")                                                      \
    X(password, "password", 0, "NATS_PASSWORD", TEXT, 0, 0, NULL, NULL, "TEXT", FOR_ALL,           \
      "password; better in the environment, where ps does not show it")                            \
    X(ca, "tlsca", 0, "NATS_CA", TEXT, 0, 0, NULL, NULL, "FILE", FOR_ALL,                          \
      "certificate authority of the server")                                                       \
    X(cert, "tlscert", 0, "NATS_CERT", TEXT, 0, 0, NULL, NULL, "FILE", FOR_ALL,                    \
      "client certificate")                                                                        \
    X(key, "tlskey", 0, "NATS_KEY", TEXT, 0, 0, NULL, NULL, "FILE", FOR_ALL,                       \
      "key of the client certificate")                                                             \
    X(log_level, "log-level", 0, "AX_LOG_LEVEL", CHOICE, 0, 0, "error|warn|info|debug", "info",    \
      "LEVEL", FOR_ALL, "least level that is logged")                                              \
    X(http_bind, "http-bind", 0, "AX_HTTP_BIND", TEXT, 0, 0, NULL, "127.0.0.1", "ADDRESS",         \
      FOR_ALL, "address of the HTTP port")                                                         \
    X(http_port, "http", 0, "AX_HTTP", NUMBER, -1, 65535, NULL, "0", "PORT", FOR_ALL,              \
      "port for /healthz, /readyz, /metrics; 0: none, -1: any free one")                           \
    X(replicas, "replicas", 0, "AX_REPLICAS", NUMBER, 1, 5, "1|3|5", "1", "N", FOR_ALL,            \
      "replicas of streams created from now")                                                      \
    X(lease_ttl_ms, "lease-ttl", 0, "AX_LEASE_TTL", DURATION, 1000, 60000, NULL, "5s", "DURATION", \
      FOR_DISPATCH | FOR_AX,                                                                       \
      "how long a dispatcher leads a pool without a word to the server; others take over after "   \
      "it")                                                                                        \
    X(inflight, "inflight", 0, "AX_INFLIGHT", NUMBER, 16, 1048576, NULL, "16384", "N",             \
      FOR_INGRESS | FOR_AX, "submissions in the works at a time")                                  \
    X(filter_entries, "filter-entries", 0, "AX_FILTER_ENTRIES", NUMBER, 1024, 100000000, NULL,     \
      "200000", "N", FOR_ALL, "keys that the first Bloom filter of a day holds")                   \
    X(strict_pools, "strict-pools", 0, "AX_STRICT_POOLS", SWITCH, 0, 1, NULL, NULL, NULL,          \
      FOR_INGRESS | FOR_AX, "refuse tasks of pools that nobody added")

struct option_row {
    const char *flag;
    char letter;
    const char *variable;
    enum kind kind;
    int64_t min, max;
    const char *words;
    const char *standard;
    const char *argument;
    int who;
    const char *help;
    size_t offset;
};

static const struct option_row table[] = {
#define X(field, flag, letter, variable, kind, min, max, words, standard, argument, who, help) \
    {flag,  letter,   variable, kind, min,  max,                                               \
     words, standard, argument, who,  help, offsetof(struct options, field)},
    OPTIONS(X)
#undef X
};
#define ROWS (int)(sizeof(table) / sizeof(*table))
/* getopt's value of the row i without a letter: beyond all characters. */
#define ROW_VALUE(i) (256 + (i))
#define HELP_VALUE ROW_VALUE(ROWS)
#define VERSION_VALUE ROW_VALUE(ROWS + 1)

static bool is_word(const char *words, const char *value)
{
    size_t n = strlen(value);
    for (const char *w = words; n > 0 && w; w = strchr(w, '|'), w = w ? w + 1 : NULL) {
        if (strncmp(w, value, n) == 0 && (w[n] == '|' || w[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool parse_switch(const char *value, bool *out)
{
    *out = is_word("1|true|yes|on", value);
    return *out || is_word("0|false|no|off", value);
}

static bool parse_number(const struct option_row *row, const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    *out = n;
    return *value && strspn(value, "-0123456789") == strlen(value) && !*end && errno == 0 &&
           n >= row->min && n <= row->max && (!row->words || is_word(row->words, value));
}

/* given: how it was given, "--http" or "AX_HTTP". */
static ax_err store(struct options *o, const struct option_row *row, const char *given,
                    const char *value, struct problem *p)
{
    void *field = (char *)o + row->offset;
    switch (row->kind) {
    case TEXT:
        if (!*value) {
            return problem_set(p, AX_E_INVALID, "%s: an empty value is not allowed", given);
        }
        *(const char **)field = value;
        break;
    case CHOICE:
        if (!is_word(row->words, value)) {
            return problem_set(p, AX_E_INVALID,
                               "%s: \"%.64s\" is not allowed; it must be one of %s", given, value,
                               row->words);
        }
        *(const char **)field = value;
        break;
    case NUMBER:
        if (!parse_number(row, value, field)) {
            if (row->words) {
                return problem_set(p, AX_E_INVALID,
                                   "%s: \"%.64s\" is not allowed; it must be one of %s", given,
                                   value, row->words);
            }
            return problem_set(
                p, AX_E_INVALID,
                "%s: \"%.64s\" is not allowed; it must be a whole number from %" PRId64
                " to %" PRId64,
                given, value, row->min, row->max);
        }
        break;
    case DURATION:
        if (!clock_parse_duration(value, row->max, field) || *(int64_t *)field < row->min) {
            char least[48], most[48];
            return problem_set(p, AX_E_INVALID,
                               "%s: \"%.64s\" is not allowed; it must be a duration from %s to %s",
                               given, value, clock_format_duration(row->min, least),
                               clock_format_duration(row->max, most));
        }
        break;
    case SWITCH:
        if (!parse_switch(value, field)) {
            return problem_set(
                p, AX_E_INVALID,
                "%s: \"%.64s\" is not allowed; it must be one of 1|true|yes|on|0|false|no|off",
                given, value);
        }
        break;
    }
    return AX_OK;
}

static ax_err read_defaults(struct options *o, enum options_for who, struct problem *p)
{
    *o = (struct options){0};
    for (const struct option_row *row = table; row < table + ROWS; row++) {
        const char *value = row->who & (int)who ? getenv(row->variable) : NULL;
        if (row->standard) {
            store(o, row, row->flag, row->standard, NULL);
        }
        /* Empty counts as not set: that is how compose files and units switch a variable off. */
        if (value && *value) {
            ax_err err = store(o, row, row->variable, value, p);
            if (err != AX_OK) {
                return err;
            }
        }
    }
    return AX_OK;
}

static int fill_getopt(enum options_for who, bool stop_at_first, struct option *longs,
                       char *letters)
{
    int n = 0;
    if (stop_at_first) {
        *letters++ = '+';
    }
    *letters++ = ':';
    *letters++ = 'h';
    for (int i = 0; i < ROWS; i++) {
        if (!(table[i].who & (int)who)) {
            continue;
        }
        bool takes = table[i].kind != SWITCH;
        if (table[i].letter) {
            *letters++ = table[i].letter;
            *letters++ = ':';
        }
        longs[n++] = (struct option){table[i].flag, takes ? required_argument : no_argument, NULL,
                                     ROW_VALUE(i)};
    }
    *letters = '\0';
    longs[n++] = (struct option){"help", no_argument, NULL, HELP_VALUE};
    longs[n++] = (struct option){"version", no_argument, NULL, VERSION_VALUE};
    longs[n] = (struct option){0};
    return n;
}

static const struct option_row *find_row(int value)
{
    for (int i = 0; i < ROWS; i++) {
        if (value == ROW_VALUE(i) || (table[i].letter && value == table[i].letter)) {
            return &table[i];
        }
    }
    return NULL;
}

ax_err options_parse(struct options *o, enum options_for who, int argc, char **argv,
                     bool stop_at_first, int *first, struct problem *p)
{
    struct option longs[ROWS + 3];
    char letters[3 + 2 * ROWS + 1];
    fill_getopt(who, stop_at_first, longs, letters);
    ax_err err = read_defaults(o, who, p);

    opterr = 0;
    optind = 0; /* glibc: start afresh, whoever called getopt before */
    int value;
    while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (value == 'h' || value == HELP_VALUE) {
            printf("Options of %s:\n", argc > 0 ? argv[0] : "ax");
            options_print_help(who);
            return AX_E_CLOSED;
        }
        if (value == VERSION_VALUE) {
            printf("%s\n", AX_VERSION);
            return AX_E_CLOSED;
        }
        if (value == ':' || value == '?') {
            char letter[3] = {'-', (char)optopt, '\0'};
            bool is_letter = optopt > ' ' && optopt < 0x7f;
            return problem_set(
                p, AX_E_INVALID, "%.64s: %s; see --help", is_letter ? letter : argv[optind - 1],
                value == ':' ? "needs a value" : "no such option, or it takes no value");
        }
        const struct option_row *row = find_row(value);
        char given[40];
        snprintf(given, sizeof(given), "--%s", row->flag);
        ax_err wrong = store(o, row, given, row->kind == SWITCH ? "1" : optarg, p);
        if (wrong != AX_OK) {
            return wrong;
        }
    }
    *first = optind;
    return err;
}

void options_print_help(enum options_for who)
{
    for (const struct option_row *row = table; row < table + ROWS; row++) {
        if (!(row->who & (int)who)) {
            continue;
        }
        char flag[64];
        char letter[8] = "    ";
        if (row->letter) {
            snprintf(letter, sizeof(letter), "-%c, ", row->letter);
        }
        snprintf(flag, sizeof(flag), "%s--%s%s%s", letter, row->flag, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        printf("  %-28s %s (%s", flag, row->help, row->variable);
        if (row->words) {
            printf("; %s", row->words);
        } else if (row->kind == NUMBER) {
            printf("; %" PRId64 " to %" PRId64, row->min, row->max);
        } else if (row->kind == DURATION) {
            char least[48], most[48];
            printf("; %s to %s", clock_format_duration(row->min, least),
                   clock_format_duration(row->max, most));
        }
        if (row->standard) {
            printf("; default %s", row->standard);
        }
        printf(")\n");
    }
    printf("  %-28s %s\n  %-28s %s\n", "-h, --help", "this text", "    --version", "the version");
}
