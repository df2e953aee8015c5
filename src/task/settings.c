#include "task/settings.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/duration.h"
#include "base/text/nearest.h"
#include "base/text/quote.h"

enum kind { REAL, WHOLE, DURATION, SWITCH, WEIGHTS };

static const struct field {
    const char *name;
    enum kind kind;
    size_t offset;
    double min, max; /* durations: ms */
} fields[] = {
#define X(field, name, kind, min, max, standard, help) \
    {#name, kind, offsetof(struct settings, field), min, max},
    SETTINGS_TABLE(X)
#undef X
};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

#define X(field, name, ...) ", " #name
static const char field_names[] = SETTINGS_TABLE(X);
#undef X
#define FIELD_NAMES (field_names + strlen(", "))

static double burst_for(double rate)
{
    return fmax(1, rate / 5);
}

static const struct field *find_field(const char *name)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

static ax_err unknown_field(const char *name, struct problem *p)
{
    char shown[QUOTE_MAX], hint[96];
    struct nearest near = {.word = name};
    for (size_t i = 0; i < FIELD_COUNT; i++)
        nearest_offer(&near, fields[i].name);
    return problem_set(p, AX_E_INVALID, "%s is no setting%s; allowed: %s", quote_text(name, shown),
                       nearest_text(&near, "", hint, sizeof(hint)), FIELD_NAMES);
}

static ax_err out_of_range(const struct field *f, const json_t *value, struct problem *p)
{
    char shown[QUOTE_MAX], least[48], most[48];
    quote_json(value, shown);
    if (f->kind == SWITCH) {
        return problem_set(p, AX_E_INVALID, "%s: %s is not allowed, must be true or false", f->name,
                           shown);
    }
    if (f->kind == WEIGHTS) {
        return problem_set(p, AX_E_INVALID,
                           "%s: %s is not allowed, must be an object of at most %d groups, names "
                           "of 1 to %d bytes, and "
                           "whole numbers from %.7g to %.7g, such as {\"acme\":3}",
                           f->name, shown, SETTINGS_WEIGHTS_MAX, GROUP_MAX_BYTES, f->min, f->max);
    }
    if (f->kind == DURATION) {
        return problem_set(p, AX_E_INVALID,
                           "%s: %s is not allowed, must be a duration from \"%s\" to \"%s\"",
                           f->name, shown, duration_format((int64_t)f->min, least),
                           duration_format((int64_t)f->max, most));
    }
    return problem_set(p, AX_E_INVALID, "%s: %s is not allowed, must be a %s from %.7g to %.7g",
                       f->name, shown, f->kind == REAL ? "number" : "whole number", f->min, f->max);
}

/* A name that a header can carry. */
static bool is_group(const char *name)
{
    size_t n = strlen(name);
    if (n < 1 || n > GROUP_MAX_BYTES || strpbrk(name, "\r\n") != NULL)
        return false;
    return !isspace((unsigned char)name[0]) && !isspace((unsigned char)name[n - 1]);
}

static ax_err put_weights(struct settings *s, const struct field *f, const json_t *value,
                          struct problem *p)
{
    if (!json_is_object(value) || json_object_size(value) > SETTINGS_WEIGHTS_MAX)
        return out_of_range(f, value, p);
    const char *name;
    json_t *weight;
    json_object_foreach((json_t *)value, name, weight) {
        double n = json_number_value(weight);
        if (!is_group(name) || !json_is_integer(weight) || n < f->min || n > f->max)
            return out_of_range(f, value, p);
    }
    memset(&s->group_weights, 0, sizeof(s->group_weights));
    json_object_foreach((json_t *)value, name, weight) {
        int i = s->group_weights.count++;
        snprintf(s->group_weights.list[i].group, sizeof(s->group_weights.list[i].group), "%s",
                 name);
        s->group_weights.list[i].weight = (int32_t)json_integer_value(weight);
    }
    return AX_OK;
}

static ax_err put_field(struct settings *s, const struct field *f, const json_t *value,
                        struct problem *p)
{
    void *at = (char *)s + f->offset;
    if (f->kind == DURATION) {
        int64_t ms;
        const char *text = json_string_value(value);
        if (text == NULL || !duration_parse(text, (int64_t)f->max, &ms) || ms < (int64_t)f->min)
            return out_of_range(f, value, p);
        *(int64_t *)at = ms;
        return AX_OK;
    }
    if (f->kind == SWITCH) {
        if (!json_is_boolean(value))
            return out_of_range(f, value, p);
        *(bool *)at = json_is_true(value);
        return AX_OK;
    }
    if (f->kind == WEIGHTS)
        return put_weights(s, f, value, p);
    if (f->kind == REAL ? !json_is_number(value) : !json_is_integer(value))
        return out_of_range(f, value, p);
    double n = json_number_value(value);
    if (!(n >= f->min && n <= f->max))
        return out_of_range(f, value, p);
    if (f->kind == REAL)
        *(double *)at = n;
    else
        *(int64_t *)at = (int64_t)n;
    return AX_OK;
}

static json_t *get_weights(const struct settings *s)
{
    json_t *o = json_object();
    for (int i = 0; o != NULL && i < s->group_weights.count; i++) {
        if (json_object_set_new(o, s->group_weights.list[i].group,
                                json_integer(s->group_weights.list[i].weight)) != 0) {
            json_decref(o);
            o = NULL;
        }
    }
    return o;
}

static json_t *get_field(const struct settings *s, const struct field *f)
{
    const void *at = (const char *)s + f->offset;
    char text[48];
    switch (f->kind) {
    case REAL: {
        double n = *(const double *)at;
        return n == floor(n) ? json_integer((json_int_t)n) : json_real(n);
    }
    case WHOLE:
        return json_integer(*(const int64_t *)at);
    case WEIGHTS:
        return get_weights(s);
    case SWITCH:
        return json_boolean(*(const bool *)at);
    default:
        return json_string(duration_format(*(const int64_t *)at, text));
    }
}

static ax_err bad_json(const json_error_t *e, struct problem *p)
{
    if (e->text[0] == '\0' || json_error_code(e) == json_error_out_of_memory)
        return problem_set(p, AX_E_NOMEM, "out of memory");
    char why[JSON_ERROR_TEXT_LENGTH];
    snprintf(why, sizeof(why), "%s", e->text);
    for (char *c = why; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') {
            *c = '?'; /* the text repeats bytes of the input */
        }
    }
    return problem_set(p, AX_E_INVALID, "settings are not valid JSON: %s (line %d, column %d)", why,
                       e->line, e->column);
}

/* 15 digits show 0.07 as a person wrote it, but only 17 restore every double exactly. */
static char *dump_exactly(const json_t *root)
{
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_t *back = text != NULL ? json_loads(text, 0, NULL) : NULL;
    if (!json_equal(root, back)) {
        free(text);
        text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    }
    json_decref(back);
    return text;
}

void settings_default(struct settings *s)
{
#define X(field, name, kind, min, max, standard, help) .field = standard,
    *s = (struct settings){SETTINGS_TABLE(X)};
#undef X
}

ax_err settings_parse(struct settings *s, const char *json, size_t bytes, struct problem *p)
{
    struct settings parsed;
    settings_default(&parsed);
    if (bytes == 0) {
        *s = parsed;
        return AX_OK;
    }
    json_error_t error;
    json_t *root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return bad_json(&error, p);
    ax_err err = AX_OK;
    if (!json_is_object(root)) {
        char shown[QUOTE_MAX];
        err = problem_set(p, AX_E_INVALID,
                          "settings: %s is not allowed, must be a JSON object like {\"rate\":50}",
                          quote_json(root, shown));
    }
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        const struct field *f = find_field(name);
        err = f != NULL ? put_field(&parsed, f, value, p) : unknown_field(name, p);
        if (err != AX_OK)
            break;
    }
    if (err == AX_OK) {
        if (json_object_get(root, "burst") == NULL)
            parsed.burst = burst_for(parsed.rate);
        if (json_object_get(root, "group_burst") == NULL)
            parsed.group_burst = burst_for(parsed.group_rate);
        *s = parsed;
    }
    json_decref(root);
    return err;
}

ax_err settings_set(struct settings *s, const char *field, const char *value, struct problem *p)
{
    const struct field *f = find_field(field);
    if (f == NULL)
        return unknown_field(field, p);
    /* The JSON parser reads numbers, so that the command takes exactly what the bucket takes. */
    json_t *parsed = NULL;
    bool is_word = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    if (f->kind == SWITCH
            ? is_word
            : f->kind != DURATION && strspn(value, "0123456789+-.eE") == strlen(value)) {
        parsed = json_loads(value, JSON_DECODE_ANY, NULL);
    }
    if (f->kind == WEIGHTS && parsed == NULL)
        parsed = json_loads(value, JSON_REJECT_DUPLICATES, NULL);
    if (parsed == NULL)
        parsed = json_string(value);
    if (parsed == NULL)
        return problem_set(p, AX_E_INVALID, "%s: the value is not valid UTF-8", f->name);
    bool follows = s->burst == burst_for(s->rate),
         group_follows = s->group_burst == burst_for(s->group_rate);
    ax_err err = put_field(s, f, parsed, p);
    json_decref(parsed);
    if (err == AX_OK && follows && strcmp(field, "rate") == 0)
        s->burst = burst_for(s->rate);
    if (err == AX_OK && group_follows && strcmp(field, "group_rate") == 0)
        s->group_burst = burst_for(s->group_rate);
    return err;
}

char *settings_format(const struct settings *s)
{
    struct settings defaults;
    settings_default(&defaults);
    defaults.burst = burst_for(s->rate);
    defaults.group_burst = burst_for(s->group_rate);
    json_t *root = json_object();
    bool ok = root != NULL;
    for (size_t i = 0; ok && i < FIELD_COUNT; i++) {
        json_t *is = get_field(s, &fields[i]), *was = get_field(&defaults, &fields[i]);
        ok = is != NULL && was != NULL;
        if (ok && !json_equal(is, was))
            ok = json_object_set(root, fields[i].name, is) == 0;
        json_decref(is);
        json_decref(was);
    }
    char *text = ok ? dump_exactly(root) : NULL;
    json_decref(root);
    return text;
}

int32_t settings_weight(const struct settings *s, const char *group)
{
    for (int i = 0; group != NULL && i < s->group_weights.count; i++) {
        if (strcmp(s->group_weights.list[i].group, group) == 0)
            return s->group_weights.list[i].weight;
    }
    return (int32_t)s->group_weight;
}

bool settings_limit_groups(const struct settings *s)
{
    return s->group_rate > 0 || s->group_concurrency > 0 || s->group_weights.count > 0 ||
           s->group_weight != 1;
}
