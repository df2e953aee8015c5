/* Flags of a command line: the rows that describe them, and the one parser for all programs and
 * commands. A wrong value gives the same message, whether it stands in a flag or in the
 * environment. */
#ifndef AX_BASE_FLAG_H
#define AX_BASE_FLAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum flag_kind {
    FLAG_BOOL,   /* bool; no value on the command line; in the environment 1|true|yes|on|0|… */
    FLAG_TEXT,   /* const char *, borrowed from argv or environ */
    FLAG_CHOICE, /* the same, one of the words */
    FLAG_INT,    /* int64_t, min … max; where there are words, one of those numbers */
    FLAG_MS,     /* int64_t milliseconds, from "1m30s"; min … max */
    FLAG_BYTES,  /* int64_t, from "256MiB"; min … max */
    /* as FLAG_MS, but the value is optional and comes after "=": without one *target = max */
    FLAG_OPTIONAL_MS,
    FLAG_LIST, /* struct flag_list; may be given several times */
    FLAG_STOP, /* bool; nothing behind it is read, as of --help */
    /* the same as FLAG_TEXT, but a copy: what the command line shows is overwritten. FLAG_URLS:
     * overwritten are user names and passwords only */
    FLAG_HIDE,
    FLAG_URLS,
    FLAG_INBOX,   /* the same as FLAG_TEXT: with what inboxes may begin (base/text/subject.h) */
    FLAG_INBOXES, /* several, with commas */
};

#define FLAG_LIST_MAX 64
struct flag_list {
    int count;
    const char *values[FLAG_LIST_MAX];
};

struct flag {
    const char *name; /* without the dashes */
    enum flag_kind kind;
    void *target;
    int64_t min, max;
    const char *value; /* what the value is called in the help; NULL: it takes none */
    const char *help;
};

/* A flag and what only some flags have. */
struct flag_row {
    struct flag flag;
    char letter;          /* -s; 0: none */
    const char *variable; /* of the environment; NULL: none */
    const char *words;    /* "error|warn|info|debug"; NULL: any */
    const char *standard; /* default, as text; NULL: none */
};

/* Puts a value into its target. given: how it was given, "--http" or "AX_HTTP". AX_E_INVALID: p
 * names given, value and what is allowed. */
ax_err flag_store(const struct flag_row *row, const char *given, const char *value,
                  struct problem *p);

/* Takes the flags out of argv[0 … *argc - 1] and leaves the words, *argc of them, in their order.
 * "--" ends the flags, "-" is a word. stop_at_first: the first word ends the flags, too.
 * AX_E_INVALID: p says which flag is unknown, or what is wrong with its value. AX_E_CLOSED: a
 * FLAG_STOP was given. */
ax_err flag_parse(const struct flag_row *rows, int count, bool stop_at_first, int *argc,
                  char **argv, struct problem *p);

/* Prints the line of --help. with_letter: leaves room for "-s, ". */
void flag_print(const struct flag_row *row, bool with_letter);

#endif
