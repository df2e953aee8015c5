#include "bus/provision/consumer_kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/duration.h"

/* What an operator may set. A value that is missing and one that is 0, false or "" are the same. */
static const struct field {
    const char *name;
    json_type type; /* JSON_TRUE: a boolean */
    bool is_time;   /* in ns */
} fields[] = {
    {"ack_wait", JSON_INTEGER, true},           {"max_ack_pending", JSON_INTEGER, false},
    {"max_waiting", JSON_INTEGER, false},       {"max_batch", JSON_INTEGER, false},
    {"max_bytes", JSON_INTEGER, false},         {"max_expires", JSON_INTEGER, true},
    {"inactive_threshold", JSON_INTEGER, true}, {"rate_limit_bps", JSON_INTEGER, false},
    {"num_replicas", JSON_INTEGER, false},      {"mem_storage", JSON_TRUE, false},
    {"sample_freq", JSON_STRING, false},        {"description", JSON_STRING, false},
    {"pause_until", JSON_STRING, false},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))
#define MAX_WAITING 512 /* what the server makes of a configuration that names none */

static bool has_type(const struct field *f, const json_t *value)
{
    if (f->type == JSON_TRUE)
        return json_is_boolean(value);
    if (value == NULL || json_typeof(value) != f->type)
        return false;
    /* -1 is "no bound" */
    return f->type != JSON_INTEGER || json_integer_value(value) >= (f->is_time ? 0 : -1);
}

static bool is_nothing(const json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_false(value) ||
           (json_is_integer(value) && json_integer_value(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static bool is_default(const struct field *f, const json_t *value, const json_t *defaults)
{
    const json_t *own = json_object_get(defaults, f->name);
    if (own == NULL && strcmp(f->name, "max_waiting") == 0)
        return is_nothing(value) || json_integer_value(value) == MAX_WAITING;
    return is_nothing(own) ? is_nothing(value) : json_equal(own, value) == 1;
}

json_t *consumer_kept_of(const json_t *config, const json_t *defaults)
{
    json_t *kept = json_object();
    for (size_t i = 0; i < FIELDS && kept != NULL; i++) {
        json_t *value = json_object_get(config, fields[i].name);
        if (!has_type(&fields[i], value) || is_default(&fields[i], value, defaults))
            continue;
        if (json_object_set(kept, fields[i].name, value) != 0) {
            json_decref(kept);
            kept = NULL;
        }
    }
    return kept;
}

json_t *consumer_kept_read(const json_t *queue_config)
{
    const json_t *metadata = json_object_get(queue_config, "metadata");
    const char *text = json_string_value(json_object_get(metadata, CONSUMER_KEPT_KEY));
    json_t *all = text != NULL ? json_loads(text, 0, NULL) : NULL;
    json_t *kept = json_is_object(all) ? consumer_kept_of(all, NULL) : NULL;
    json_decref(all);
    if (kept != NULL && json_object_size(kept) == 0) {
        json_decref(kept);
        return NULL;
    }
    return kept;
}

bool consumer_kept_is(const json_t *queue_config, const json_t *kept)
{
    json_t *has = consumer_kept_read(queue_config);
    size_t wanted = json_object_size(kept);
    bool same = has == NULL ? wanted == 0 : json_equal(has, kept) == 1;
    json_decref(has);
    return same;
}

/* Its metadata, which is made where there is none. NULL: out of memory. */
static json_t *metadata_of(json_t *config)
{
    json_t *metadata = json_object_get(config, "metadata");
    if (json_is_object(metadata))
        return metadata;
    return json_object_set_new(config, "metadata", json_object()) == 0
               ? json_object_get(config, "metadata")
               : NULL;
}

bool consumer_kept_write(json_t *queue_config, const json_t *kept)
{
    json_t *metadata = metadata_of(queue_config);
    if (metadata == NULL)
        return false;
    if (json_object_size(kept) == 0) {
        json_object_del(metadata, CONSUMER_KEPT_KEY);
        return true;
    }
    char *text = json_dumps(kept, JSON_COMPACT | JSON_SORT_KEYS);
    bool done = text != NULL &&
                json_object_set_new(metadata, CONSUMER_KEPT_KEY, json_string(text)) == 0;
    free(text);
    return done;
}

bool consumer_kept_apply(json_t *work_config, const json_t *kept)
{
    json_t *metadata = metadata_of(work_config);
    if (metadata == NULL || (kept != NULL && json_object_update(work_config, (json_t *)kept) != 0))
        return false;
    return json_object_set_new(metadata, CONSUMER_KEPT_MARK, json_string("true")) == 0;
}

bool consumer_kept_is_made_again(const json_t *work_config)
{
    return json_object_get(json_object_get(work_config, "metadata"), CONSUMER_KEPT_MARK) != NULL;
}

static int print_field(const struct field *f, const json_t *value, char *out, size_t cap)
{
    char span[64];
    if (f->is_time) {
        return snprintf(out, cap, "%s=%s", f->name,
                        duration_format(json_integer_value(value) / 1000000, span));
    }
    if (f->type == JSON_INTEGER)
        return snprintf(out, cap, "%s=%" JSON_INTEGER_FORMAT, f->name, json_integer_value(value));
    return snprintf(out, cap, "%s=%s", f->name,
                    json_is_true(value) ? "true" : json_string_value(value));
}

void consumer_kept_text(const json_t *kept, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < FIELDS && used + 1 < cap; i++) {
        const json_t *value = json_object_get(kept, fields[i].name);
        if (value == NULL)
            continue;
        if (used > 0)
            out[used++] = ' ';
        used += (size_t)print_field(&fields[i], value, out + used, cap - used);
    }
}
