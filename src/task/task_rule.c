#include "task/task_rule.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text/duration.h"
#include "base/text/quote.h"
#include "base/text/rfc3339.h"

static ax_err refuse(struct problem *p, const char *field, const char *value, const char *allowed)
{
    char quoted[QUOTE_MAX];
    return problem_set(p, AX_E_INVALID, "%s: %s is not allowed; it must be %s", field,
                       quote_text(value, quoted), allowed);
}

/* nats.c writes CR and LF as spaces and strips white space from both ends of a value: such bytes
 * would arrive changed. */
static bool survives_the_wire(const char *s)
{
    size_t n = strcspn(s, "\r\n");
    return s[n] == '\0' &&
           (n == 0 || (!isspace((unsigned char)s[0]) && !isspace((unsigned char)s[n - 1])));
}

static bool is_printable_ascii(const char *s, size_t max)
{
    size_t n = 0;
    for (; s[n]; n++) {
        if (n == max || s[n] < ' ' || s[n] == 0x7f)
            return false;
    }
    return n > 0;
}

ax_err task_rule_key(struct task *t, const char *field, const char *value, struct problem *p)
{
    size_t n = strlen(value);
    if (n < 1 || n > KEY_MAX_BYTES) {
        return problem_set(p, AX_E_INVALID,
                           "%s: a key of %zu bytes is not allowed; it must have 1 to %d", field, n,
                           KEY_MAX_BYTES);
    }
    if (!survives_the_wire(value))
        return refuse(p, field, value, "without CR, LF, and white space at its ends");
    t->key = value;
    return AX_OK;
}

ax_err task_rule_group(struct task *t, const char *field, const char *value, struct problem *p)
{
    size_t n = strlen(value);
    if (n < 1 || n > GROUP_MAX_BYTES) {
        return problem_set(p, AX_E_INVALID,
                           "%s: a name of %zu bytes is not allowed; it must have 1 to %d", field, n,
                           GROUP_MAX_BYTES);
    }
    if (!survives_the_wire(value))
        return refuse(p, field, value, "without CR, LF, and white space at its ends");
    t->group = value;
    return AX_OK;
}

ax_err task_rule_ordered(struct task *t, const char *field, const char *value, struct problem *p)
{
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return refuse(p, field, value, "true or false");
    t->ordered = *value == 't';
    return AX_OK;
}

ax_err task_rule_max_retry(struct task *t, const char *field, const char *value, struct problem *p)
{
    size_t n = strlen(value);
    long parsed = n >= 1 && n <= 9 && strspn(value, "0123456789") == n ? strtol(value, NULL, 10)
                                                                       : -1;
    if (parsed < 0 || parsed > TASK_MAX_RETRY_LIMIT)
        return refuse(p, field, value, "a whole number from 0 to 1000");
    t->max_retry = (int32_t)parsed;
    return AX_OK;
}

ax_err task_rule_backoff(struct task *t, const char *field, const char *value, struct problem *p)
{
    int64_t ms;
    if (!duration_parse(value, TASK_BACKOFF_MAX_MS, &ms) || ms < TASK_BACKOFF_MIN_MS) {
        return refuse(
            p, field, value,
            "a duration from 1ms to 1h in whole numbers with a unit (ms, s, m, h), such as 30s");
    }
    t->backoff_ms = ms;
    return AX_OK;
}

ax_err task_rule_timeout(struct task *t, const char *field, const char *value, struct problem *p)
{
    int64_t ms;
    if (!duration_parse(value, TASK_TIMEOUT_MAX_MS, &ms) || ms < TASK_TIMEOUT_MIN_MS) {
        return refuse(
            p, field, value,
            "a duration from 1s to 24h in whole numbers with a unit (ms, s, m, h), such as 5m");
    }
    t->timeout_ms = ms;
    return AX_OK;
}

ax_err task_rule_overlap(struct task *t, const char *field, const char *value, struct problem *p)
{
    if (strcmp(value, "skip") != 0 && strcmp(value, "queue") != 0)
        return refuse(p, field, value, "skip or queue");
    t->overlap = *value == 's' ? TASK_OVERLAP_SKIP : TASK_OVERLAP_QUEUE;
    return AX_OK;
}

#define DURATION_ALLOWED                                                                         \
    "a duration from 1ms to 365d in whole numbers with a unit (ms, s, m, h, d), such as 90s or " \
    "1h30m"
#define TIME_ALLOWED                                                           \
    "an RFC 3339 time with seconds and zone and without leap second, such as " \
    "2030-01-31T09:00:00Z, until 2262-04-11T23:47:16Z"

ax_err task_rule_delay(struct task *t, const char *field, const char *value, struct problem *p)
{
    int64_t ms;
    if (!duration_parse(value, TASK_DELAY_MAX_MS, &ms) || ms < 1)
        return refuse(p, field, value, DURATION_ALLOWED);
    t->delay_ms = ms;
    return AX_OK;
}

ax_err task_rule_at(struct task *t, const char *field, const char *value, struct problem *p)
{
    int64_t ns;
    if (!rfc3339_parse(value, &ns) || ns <= 0)
        return refuse(p, field, value, TIME_ALLOWED);
    t->at_ns = ns;
    return AX_OK;
}

ax_err task_rule_expires(struct task *t, const char *field, const char *value, struct problem *p)
{
    int64_t n;
    if (rfc3339_parse(value, &n) && n > 0) {
        t->expires_ns = n;
        return AX_OK;
    }
    if (duration_parse(value, TASK_DELAY_MAX_MS, &n) && n >= 1) {
        t->expires_in_ms = n;
        return AX_OK;
    }
    return refuse(p, field, value, TIME_ALLOWED ", or a duration from 1ms to 365d, such as 10m");
}

ax_err task_rule_cron(struct task *t, const char *field, const char *value, struct problem *p)
{
    if (!is_printable_ascii(value, TASK_CRON_MAX_CHARS)) {
        return refuse(p, field, value,
                      "1 to 256 printable ASCII characters, such as \"0 30 9 * * 1-5\"");
    }
    t->cron = value;
    return AX_OK;
}

/* What Go and zone data take as well: the zone of the server's machine, and files that are none. */
static bool is_no_zone(const char *name)
{
    static const char *const names[] = {"Local", "Factory", "localtime", "posixrules"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(name, names[i]) == 0)
            return true;
    }
    return strncmp(name, "posix/", 6) == 0 || strncmp(name, "right/", 6) == 0;
}

ax_err task_rule_time_zone(struct task *t, const char *field, const char *value, struct problem *p)
{
    size_t n = strlen(value);
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)value[i]) && !strchr("/_+-", value[i]))
            n = 0;
    }
    if (n < 1 || n > TASK_ZONE_MAX_CHARS || is_no_zone(value)) {
        return refuse(p, field, value,
                      "the name of an IANA time zone, 1 to 64 characters, such as Europe/Zurich");
    }
    t->time_zone = value;
    return AX_OK;
}

static bool name_fits(const char *name)
{
    size_t n = 0;
    for (; name[n]; n++) {
        if (n == TASK_HEADER_NAME_MAX || name[n] <= ' ' || name[n] >= 0x7f || name[n] == ':')
            return false;
    }
    return n > 0;
}

/* Clients take such a header, on a message without body, for a status of the server. */
static bool is_status(const char *name)
{
    return strcasecmp(name, "Status") == 0;
}

static ax_err add_header(struct task *t, const char *name, const char *value)
{
    /* Grows at 0, 8, 16, 32 …: the count alone tells when, so that the struct needs no capacity. */
    size_t n = t->header_count;
    if (n == 0 || (n >= 8 && (n & (n - 1)) == 0)) {
        struct task_header *grown = realloc(t->headers, (n ? 2 * n : 8) * sizeof(*grown));
        if (grown == NULL)
            return AX_E_NOMEM;
        t->headers = grown;
    }
    t->headers[t->header_count++] = (struct task_header){name, value};
    return AX_OK;
}

ax_err task_rule_pass(struct task *t, const char *kind, const char *name, const char *value,
                      struct problem *p)
{
    char quoted[QUOTE_MAX];
    if (!name_fits(name)) {
        return problem_set(p, AX_E_INVALID,
                           "%s: the name %s is not allowed; it must have 1 to 256 printable ASCII "
                           "characters without "
                           "space and colon",
                           kind, quote_text(name, quoted));
    }
    if (!*value) {
        return problem_set(p, AX_E_INVALID,
                           "%s %s: an empty value is not allowed; give it one or leave it out",
                           kind, quote_text(name, quoted));
    }
    if (!survives_the_wire(value)) {
        return problem_set(p, AX_E_INVALID,
                           "%s %s: the value is not allowed; it must be without CR, LF, and white "
                           "space at its ends",
                           kind, quote_text(name, quoted));
    }
    if (t->body_bytes == 0 && is_status(name)) {
        return problem_set(p, AX_E_INVALID,
                           "%s \"Status\": not allowed with an empty body; workers' clients would "
                           "take the task for a "
                           "message of the server",
                           kind);
    }
    if (t->header_count == TASK_HEADERS_MAX) {
        return problem_set(p, AX_E_INVALID,
                           "%s %s: too many; at most %d header values are passed through", kind,
                           quote_text(name, quoted), TASK_HEADERS_MAX);
    }
    if (add_header(t, name, value) != AX_OK)
        return problem_set(p, AX_E_NOMEM, "out of memory");
    return AX_OK;
}

/* In a submission with headers the key is usually given as the message id. */
static const char *name_in(bool is_proto, enum header_id id)
{
    return is_proto           ? header_table[id].member
           : id == HEADER_KEY ? HDR_MSG_ID
                              : header_table[id].name;
}

ax_err task_rule_together(const struct task *t, bool is_proto, struct problem *p)
{
    if (t->delay_ms >= 0 && t->at_ns) {
        return problem_set(p, AX_E_INVALID, "%s and %s are both given; only one of them is allowed",
                           name_in(is_proto, HEADER_DELAY), name_in(is_proto, HEADER_AT));
    }
    if (t->cron != NULL && (t->delay_ms >= 0 || t->at_ns)) {
        return problem_set(p, AX_E_INVALID, "%s and %s are both given; only one of them is allowed",
                           name_in(is_proto, HEADER_CRON),
                           t->at_ns ? name_in(is_proto, HEADER_AT)
                                    : name_in(is_proto, HEADER_DELAY));
    }
    if (t->cron != NULL && (t->expires_ns || t->expires_in_ms)) {
        return problem_set(p, AX_E_INVALID, "%s and %s are both given; only one of them is allowed",
                           name_in(is_proto, HEADER_CRON), name_in(is_proto, HEADER_EXPIRES));
    }
    if (t->cron != NULL && t->key == NULL) {
        return problem_set(p, AX_E_INVALID,
                           "%s is given without %s; a recurring task needs a key as its name",
                           name_in(is_proto, HEADER_CRON), name_in(is_proto, HEADER_KEY));
    }
    if (t->time_zone != NULL && t->cron == NULL) {
        return problem_set(p, AX_E_INVALID,
                           "%s is given without %s, the only thing it has a meaning for",
                           name_in(is_proto, HEADER_TIME_ZONE), name_in(is_proto, HEADER_CRON));
    }
    if (t->overlap != TASK_OVERLAP_DEFAULT && t->cron == NULL) {
        return problem_set(p, AX_E_INVALID,
                           "%s is given without %s, the only thing it has a meaning for",
                           name_in(is_proto, HEADER_OVERLAP), name_in(is_proto, HEADER_CRON));
    }
    if (t->ordered && t->group == NULL) {
        return problem_set(p, AX_E_INVALID, "%s is given without %s; order is kept within a group",
                           name_in(is_proto, HEADER_ORDERED), name_in(is_proto, HEADER_GROUP));
    }
    if (t->ordered && (t->cron != NULL || t->delay_ms >= 0 || t->at_ns)) {
        return problem_set(p, AX_E_INVALID,
                           "%s and %s are both given; an ordered task is taken in order of "
                           "acceptance, not at a time",
                           name_in(is_proto, HEADER_ORDERED),
                           t->cron    ? name_in(is_proto, HEADER_CRON)
                           : t->at_ns ? name_in(is_proto, HEADER_AT)
                                      : name_in(is_proto, HEADER_DELAY));
    }
    if (t->cron != NULL && strlen(t->key) > TASK_CRON_KEY_MAX_BYTES) {
        return problem_set(p, AX_E_INVALID,
                           "%s: a key of %zu bytes is not allowed with %s; it must have 1 to %d",
                           name_in(is_proto, HEADER_KEY), strlen(t->key),
                           name_in(is_proto, HEADER_CRON), TASK_CRON_KEY_MAX_BYTES);
    }
    return AX_OK;
}
