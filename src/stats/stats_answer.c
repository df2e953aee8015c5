#include "stats/stats_answer.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "base/saturate.h"

enum kind { TEXT, FLAG, WHOLE, COUNT, OFFSET, REAL, SHARE, PART };

/* A row as the code needs it. A table ends with a row without a name. */
struct field {
    const char *name;
    enum kind kind;
    size_t offset;            /* in the struct */
    const struct field *part; /* PART: the table of the struct that lies there */
};

#define FIELD(type, name, kind, part) {#name, kind, offsetof(struct type, name), part},

#define X(name, kind) FIELD(stats_daemon, name, kind, NULL)
static const struct field stats_daemon_fields[] = {STATS_DAEMON_FIELDS(X){0}};
#undef X
#define X(name, kind) FIELD(stats_durations, name, kind, NULL)
static const struct field stats_durations_fields[] = {STATS_DURATIONS_FIELDS(X){0}};
#undef X
#define X(name, kind) FIELD(stats_later, name, kind, NULL)
static const struct field stats_later_fields[] = {STATS_LATER_FIELDS(X){0}};
#undef X
#define X(name, kind) FIELD(stats_priority, name, kind, NULL)
static const struct field stats_priority_fields[] = {STATS_PRIORITY_FIELDS(X){0}};
#undef X

#define X(series, name) FIELD(stats_pool_recent, name, WHOLE, NULL)
static const struct field stats_pool_recent_fields[] = {
    FIELD(stats_pool_recent, seconds, REAL, NULL) STATS_POOL_SERIES(X){0}};
#undef X
#define X(series, name) FIELD(stats_ingress_recent, name, WHOLE, NULL)
static const struct field stats_ingress_recent_fields[] = {
    FIELD(stats_ingress_recent, seconds, REAL, NULL) STATS_INGRESS_SERIES(X){0}};
#undef X

#define X(name, kind) FIELD(stats_pool, name, kind, NULL)
static const struct field stats_pool_fields[] = {STATS_POOL_FIELDS(X){0}};
#undef X
#define X(name, type) FIELD(stats_pool, name, PART, type##_fields)
static const struct field stats_pool_parts[] = {STATS_POOL_PARTS(X){0}};
#undef X
#define X(name, kind) FIELD(stats_ingress, name, kind, NULL)
static const struct field stats_ingress_fields[] = {STATS_INGRESS_FIELDS(X){0}};
#undef X
#define X(name, type) FIELD(stats_ingress, name, PART, type##_fields)
static const struct field stats_ingress_parts[] = {STATS_INGRESS_PARTS(X){0}};
#undef X

/* ---- writing ---- */

static bool put(json_t *o, const struct field *table, const void *from);

static json_t *make_part(const struct field *table, const void *from)
{
    json_t *o = json_object();
    if (put(o, table, from))
        return o;
    json_decref(o);
    return NULL;
}

static json_t *make(const struct field *f, const void *at)
{
    int64_t whole = 0;
    double real = 0;
    if (f->kind == WHOLE || f->kind == COUNT || f->kind == OFFSET)
        whole = *(const int64_t *)at;
    else if (f->kind == REAL || f->kind == SHARE)
        real = *(const double *)at;
    switch (f->kind) {
    case TEXT:
        return *(const char *)at != '\0' ? json_string(at) : json_null();
    case FLAG:
        return json_boolean(*(const bool *)at);
    case WHOLE:
        return json_integer(whole);
    case COUNT:
        return whole >= 0 ? json_integer(whole) : json_null();
    case OFFSET:
        return whole != INT64_MIN ? json_integer(whole) : json_null();
    case REAL:
        return json_real(real);
    case SHARE:
        return real >= 0 ? json_real(real) : json_null();
    default:
        return make_part(f->part, at);
    }
}

static bool put(json_t *o, const struct field *table, const void *from)
{
    for (const struct field *f = table; f->name != NULL; f++) {
        if (json_object_set_new(o, f->name, make(f, (const char *)from + f->offset)) != 0)
            return false;
    }
    return true;
}

void stats_answer_daemon(struct stats_daemon *out, const char *program, const char *name,
                         bool ready, struct clock *clock)
{
    int64_t ahead_ns = clock_host_ahead_ns(clock);
    *out = (struct stats_daemon){
        .version = AX_VERSION,
        .ready = ready,
        .part = 1,
        .parts = 1,
        .clock_behind_ms = clock_behind_ns(clock) / 1000000,
        .host_clock_ahead_ms = ahead_ns != INT64_MIN ? ahead_ns / 1000000 : INT64_MIN,
    };
    snprintf(out->program, sizeof(out->program), "%s", program);
    snprintf(out->name, sizeof(out->name), "%s", name);
}

bool stats_answer_put_daemon(json_t *o, const struct stats_daemon *from)
{
    return put(o, stats_daemon_fields, from);
}

bool stats_answer_put_pool(json_t *o, const struct stats_pool *from, bool with_parts)
{
    return put(o, stats_pool_fields, from) && (!with_parts || put(o, stats_pool_parts, from));
}

bool stats_answer_put_ingress(json_t *o, const struct stats_ingress *from)
{
    return put(o, stats_ingress_fields, from) && put(o, stats_ingress_parts, from);
}

bool stats_answer_put_priority(json_t *o, const struct stats_priority *from)
{
    return put(o, stats_priority_fields, from);
}

void stats_answer_send(struct wire *w, const char *reply, json_t *answer)
{
    char *text = answer != NULL ? json_dumps(answer, JSON_COMPACT) : NULL;
    if (text == NULL)
        log_error("out of memory, stats query not answered", NULL);
    else
        wire_publish_text(w, reply, text);
    free(text);
    json_decref(answer);
}

/* ---- reading ---- */

static void take(const json_t *o, const struct field *table, void *out);

static void take_whole(const json_t *value, int64_t unknown, int64_t *out)
{
    double real = json_real_value(value);
    if (json_is_integer(value))
        *out = json_integer_value(value);
    else
        *out = json_is_real(value) && real > -9e18 && real < 9e18 ? (int64_t)real : unknown;
}

static void take_real(const json_t *value, double unknown, double *out)
{
    *out = json_is_number(value) ? json_number_value(value) : unknown;
}

static void take_field(const json_t *value, const struct field *f, void *at)
{
    const char *text = json_string_value(value);
    switch (f->kind) {
    case TEXT:
        snprintf(at, STATS_TEXT_BYTES, "%s", text != NULL ? text : "");
        break;
    case FLAG:
        *(bool *)at = json_is_true(value);
        break;
    case WHOLE:
        take_whole(value, 0, at);
        break;
    case COUNT:
        take_whole(value, -1, at);
        break;
    case OFFSET:
        take_whole(value, INT64_MIN, at);
        break;
    case REAL:
        take_real(value, 0, at);
        break;
    case SHARE:
        take_real(value, -1, at);
        break;
    case PART:
        take(value, f->part, at);
        break;
    }
}

static void take(const json_t *o, const struct field *table, void *out)
{
    for (const struct field *f = table; f->name != NULL; f++)
        take_field(json_object_get(o, f->name), f, (char *)out + f->offset);
}

void stats_answer_read_daemon(const json_t *o, struct stats_daemon *out)
{
    take(o, stats_daemon_fields, out);
}

void stats_answer_read_pool(const json_t *o, struct stats_pool *out)
{
    const char *priority;
    json_t *tasks;
    take(o, stats_pool_fields, out);
    take(o, stats_pool_parts, out);
    out->answered = o != NULL;
    out->pending = 0;
    json_object_foreach(json_object_get(o, "pending"), priority, tasks)
        out->pending = saturate_add(out->pending, json_integer_value(tasks));
}

void stats_answer_read_ingress(const json_t *o, struct stats_ingress *out)
{
    take(o, stats_ingress_fields, out);
    take(o, stats_ingress_parts, out);
}

void stats_answer_read_priority(const json_t *o, struct stats_priority *out)
{
    take(o, stats_priority_fields, out);
}
