#include "task/header_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/rfc3339.h"
#include "task/header.h"
#include "task/task_rule.h"

const struct header_row header_table[HEADER_COUNT] = {
#define GIVEN(id, rule, field, form, carried)                                                      \
    {HDR_##id,         #rule,         task_rule_##rule, offsetof(struct task, field), FORM_##form, \
     HEADER_##carried, HEADER_NOWHERE},
#define OWN(id, field, form, carried, always)                                           \
    {HDR_##id,         NULL,           NULL, offsetof(struct task, field), FORM_##form, \
     HEADER_##carried, HEADER_##always},
    HEADER_TABLE(GIVEN, OWN)
#undef GIVEN
#undef OWN
};

/* A row whose form does not fit its field must not compile. */
typedef const char *c_TEXT;
typedef char c_NAME[NAME_MAX_CHARS + 1];
typedef bool c_BOOL;
typedef enum task_overlap c_OVERLAP;
typedef int32_t c_INT32;
typedef uint32_t c_UINT32;
typedef int64_t c_INT64, c_DURATION, c_TIME;
typedef uint64_t c_UINT64;
#define FITS(id, field, form)                                                                     \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct task *)0)->field), c_##form), \
                   "the form of HDR_" #id " is not that of its field");
#define GIVEN(id, rule, field, form, carried) FITS(id, field, form)
#define OWN(id, field, form, carried, always) FITS(id, field, form)
HEADER_TABLE(GIVEN, OWN)
#undef GIVEN
#undef OWN

static const struct task none = TASK_NONE;

static const void *field_of(const struct task *t, const struct header_row *row)
{
    return (const char *)t + row->offset;
}

static const char *text_of(const struct task *t, const struct header_row *row)
{
    return *(const char *const *)field_of(t, row);
}

static int64_t number_of(const struct task *t, const struct header_row *row)
{
    const void *field = field_of(t, row);
    switch (row->form) {
    case FORM_BOOL:
        return *(const bool *)field;
    case FORM_OVERLAP:
        return *(const enum task_overlap *)field == TASK_OVERLAP_QUEUE;
    case FORM_INT32:
        return *(const int32_t *)field;
    case FORM_UINT32:
        return *(const uint32_t *)field;
    case FORM_UINT64:
        return (int64_t)*(const uint64_t *)field;
    default:
        return *(const int64_t *)field;
    }
}

const struct header_row *header_table_find(const char *name)
{
    for (const struct header_row *row = header_table; row < header_table + HEADER_COUNT; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

enum header_stage header_table_stage(const char *subject)
{
    static const struct {
        const char *prefix;
        enum header_stage stage;
    } stages[] = {{"ax.work.", HEADER_IN_WORK},
                  {"ax.later.", HEADER_IN_LATER},
                  {"ax.due.", HEADER_IN_LATER},
                  {"ax.dead.", HEADER_IN_DEAD}};
    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
        if (strncmp(subject, stages[i].prefix, strlen(stages[i].prefix)) == 0)
            return stages[i].stage;
    }
    return HEADER_IN_QUEUE;
}

/* ---- writing ---- */

#define VALUE_MAX 40

static const char *format_number(const struct header_row *row, int64_t n, char buf[VALUE_MAX])
{
    if (row->form == FORM_TIME)
        return rfc3339_format(n, buf);
    if (row->form == FORM_DURATION && n % 1000 == 0)
        snprintf(buf, VALUE_MAX, "%" PRId64 "s", n / 1000);
    else
        snprintf(buf, VALUE_MAX, "%" PRId64 "%s", n, row->form == FORM_DURATION ? "ms" : "");
    return buf;
}

/* What t says there; NULL: nothing. */
static const char *value_of(const struct task *t, const struct header_row *row, bool always,
                            char buf[VALUE_MAX])
{
    switch (row->form) {
    case FORM_TEXT:
        return text_of(t, row);
    case FORM_NAME: {
        const char *name = field_of(t, row);
        return *name != '\0' ? name : NULL;
    }
    case FORM_BOOL:
        return number_of(t, row) ? "true" : NULL;
    case FORM_OVERLAP:
        return t->overlap == TASK_OVERLAP_DEFAULT ? NULL
               : t->overlap == TASK_OVERLAP_SKIP  ? "skip"
                                                  : "queue";
    default: {
        int64_t n = number_of(t, row);
        return always || n > number_of(&none, row) ? format_number(row, n, buf) : NULL;
    }
    }
}

/* Each header costs nats.c several allocations, and the server its bytes: what says nothing beyond
 * subject and default is left out. */
natsStatus header_table_write(const struct task *t, enum header_stage stage, natsMsg *msg)
{
    natsStatus s = NATS_OK;
    for (const struct header_row *row = header_table;
         s == NATS_OK && row < header_table + HEADER_COUNT; row++) {
        char buf[VALUE_MAX];
        if ((row->carried & stage) == 0)
            continue;
        const char *value = value_of(t, row, (row->always & stage) != 0, buf);
        if (value != NULL)
            s = header_set(msg, row->name, value);
    }
    return s;
}

/* ---- reading ---- */

/* A number that AX wrote; what is no number counts as none. */
static int64_t read_number(const char *s, int64_t min, int64_t max)
{
    size_t n = strlen(s);
    if (n < 1 || n > 19 || strspn(s, "0123456789") != n)
        return min;
    errno = 0;
    long long v = strtoll(s, NULL, 10);
    return errno == 0 && v >= min && v <= max ? v : min;
}

static void read_own(struct task *t, const struct header_row *row, const char *value)
{
    void *field = (char *)t + row->offset;
    int64_t min = row->form == FORM_NAME ? 0 : number_of(&none, row);
    switch (row->form) {
    case FORM_NAME: /* the subject wins */
        if (*(char *)field == '\0' && name_is_valid(value))
            strcpy(field, value);
        break;
    case FORM_UINT32:
        *(uint32_t *)field = (uint32_t)read_number(value, min, UINT32_MAX);
        break;
    default:
        *(int64_t *)field = read_number(value, min, INT64_MAX);
        break;
    }
}

void header_table_read(struct task *t, enum header_stage stage, const char *name, const char *value)
{
    const struct header_row *row = header_table_find(name);
    if (row == NULL || (row->carried & stage) == 0)
        return;
    if (row->rule != NULL)
        row->rule(t, name, value, NULL);
    else
        read_own(t, row, value);
}

/* ---- */

bool header_table_is_same(const struct task *a, const struct task *b)
{
    for (const struct header_row *row = header_table; row < header_table + HEADER_COUNT; row++) {
        if (row->rule == NULL)
            continue;
        if (row->form == FORM_TEXT) {
            const char *one = text_of(a, row), *other = text_of(b, row);
            if (one == NULL || other == NULL ? one != other : strcmp(one, other) != 0)
                return false;
        } else if (number_of(a, row) != number_of(b, row)) {
            return false;
        }
    }
    return true;
}

void header_table_drop_text(struct task *t)
{
    for (const struct header_row *row = header_table; row < header_table + HEADER_COUNT; row++) {
        if (row->form == FORM_TEXT)
            *(const char **)((char *)t + row->offset) = NULL;
    }
}

size_t header_table_text_bytes(const struct task *t)
{
    size_t bytes = 0;
    for (const struct header_row *row = header_table; row < header_table + HEADER_COUNT; row++) {
        if (row->form == FORM_TEXT && row->carried == HEADER_EVERYWHERE && text_of(t, row))
            bytes += header_line_bytes(row->name, text_of(t, row));
    }
    return bytes;
}
