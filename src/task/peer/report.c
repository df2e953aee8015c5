#include "task/peer/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ax/v1/worker.pb-c.h"
#include "base/proto.h"
#include "base/text/quote.h"
#include "task/peer/instance.h"

#define JSON_MAX_BYTES 4096

enum kind { WHOLE, REAL };

static const struct field {
    const char *name;
    size_t offset;
    enum kind kind;
    double most;
} fields[] = {
#define X(field, kind, most) {#field, offsetof(struct report, field), kind, most},
    REPORT_TABLE(X)
#undef X
};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

#define X(field, kind, most) ", " #field
static const char field_names[] = REPORT_TABLE(X);
#undef X

static ax_err out_of_range(const struct field *f, const char *shown, struct problem *p)
{
    return problem_set(p, AX_E_INVALID, "%s: %s is not allowed, must be a %s from 0 to %.12g",
                       f->name, shown, f->kind == REAL ? "number" : "whole number", f->most);
}

static ax_err put(struct report *r, const struct field *f, double value, struct problem *p)
{
    char shown[40];
    void *at = (char *)r + f->offset;
    if (!(value >= 0 && value <= f->most)) {
        snprintf(shown, sizeof(shown), "%.12g", value);
        return out_of_range(f, shown, p);
    }
    if (f->kind == REAL)
        *(double *)at = value;
    else
        *(uint32_t *)at = (uint32_t)value;
    return AX_OK;
}

static ax_err check_together(const struct report *r, struct problem *p)
{
    if (r->busy > r->capacity) {
        return problem_set(p, AX_E_INVALID,
                           "busy: %u is not allowed, must be at most the capacity, %u", r->busy,
                           r->capacity);
    }
    if (r->p50_ms > r->p99_ms) {
        return problem_set(p, AX_E_INVALID,
                           "p50_ms: %.12g is not allowed, must be at most p99_ms, %.12g", r->p50_ms,
                           r->p99_ms);
    }
    return AX_OK;
}

/* ---- JSON ---- */

static ax_err put_json(struct report *r, const char *name, const json_t *value, struct problem *p)
{
    char quoted[QUOTE_MAX];
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *f = &fields[i];
        if (strcmp(f->name, name) != 0)
            continue;
        if (f->kind == REAL ? !json_is_number(value) : !json_is_integer(value))
            return out_of_range(f, quote_json(value, quoted), p);
        return put(r, f, json_number_value(value), p);
    }
    return problem_set(p, AX_E_INVALID, "%s is no field of a report; allowed: %s",
                       quote_text(name, quoted), field_names + strlen(", "));
}

static ax_err from_json(struct report *r, const void *data, size_t bytes, struct problem *p)
{
    json_error_t error;
    if (bytes > JSON_MAX_BYTES) {
        return problem_set(p, AX_E_INVALID,
                           "a report of %zu bytes is not allowed, must be at most %d", bytes,
                           JSON_MAX_BYTES);
    }
    json_t *root = json_loadb(bytes > 0 ? data : "", bytes, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL && json_error_code(&error) == json_error_out_of_memory)
        return problem_set(p, AX_E_NOMEM, "out of memory");
    if (!json_is_object(root)) {
        json_decref(root);
        return problem_set(p, AX_E_INVALID,
                           "a report must be a JSON object such as {\"capacity\":4,\"busy\":1}, or "
                           "protobuf with header " HDR_SCHEMA ": " WORKER_SCHEMA);
    }
    ax_err err = AX_OK;
    const char *name;
    json_t *value;
    if (json_object_get(root, "capacity") == NULL) {
        err = problem_set(p, AX_E_INVALID,
                          "capacity: is missing, must be a whole number from 0 to %d",
                          REPORT_CAPACITY_MAX);
    }
    json_object_foreach(root, name, value) {
        if (err == AX_OK)
            err = put_json(r, name, value, p);
    }
    json_decref(root);
    return err;
}

/* ---- protobuf ---- */

static ax_err from_proto(struct report *r, const void *data, size_t bytes, struct problem *p)
{
    ax_err err;
    Ax__V1__WorkerReport *m = proto_unpack(&ax__v1__worker_report__descriptor, data, bytes, &err);
    if (err == AX_E_NOMEM)
        return problem_set(p, AX_E_NOMEM, "out of memory");
    if (m == NULL) {
        return problem_set(p, AX_E_INVALID,
                           "the %zu bytes are not an " WORKER_SCHEMA " message, which " HDR_SCHEMA
                           " announces",
                           bytes);
    }
#define X(field, kind, most) m->field,
    const double values[FIELD_COUNT] = {REPORT_TABLE(X)};
#undef X
    for (size_t i = 0; err == AX_OK && i < FIELD_COUNT; i++)
        err = put(r, &fields[i], values[i], p);
    proto_free(m);
    return err;
}

/* ---- */

size_t report_pack(const struct report *r, uint8_t *buf)
{
    Ax__V1__WorkerReport m = AX__V1__WORKER_REPORT__INIT;
#define X(field, kind, most) m.field = r->field;
    REPORT_TABLE(X)
#undef X
    return ax__v1__worker_report__pack(&m, buf);
}

ax_err report_parse(struct report *r, const char *schema, const void *data, size_t bytes,
                    struct problem *p)
{
    struct report parsed = {0};
    if (schema != NULL && strcmp(schema, WORKER_SCHEMA) != 0) {
        return problem_set(p, AX_E_INVALID,
                           HDR_SCHEMA ": another one than " WORKER_SCHEMA
                                      " is not allowed; leave it out for JSON");
    }
    ax_err err = schema != NULL ? from_proto(&parsed, data, bytes, p)
                                : from_json(&parsed, data, bytes, p);
    if (err == AX_OK)
        err = check_together(&parsed, p);
    if (err == AX_OK)
        *r = parsed;
    return err;
}

bool report_parse_subject(const char *subject, char pool[NAME_MAX_CHARS + 1],
                          char worker[WORKER_NAME_MAX_CHARS + 1])
{
    if (strncmp(subject, WORKER_PREFIX, strlen(WORKER_PREFIX)) != 0)
        return false;
    const char *name = subject + strlen(WORKER_PREFIX), *dot = strchr(name, '.');
    if (dot == NULL || !name_is_valid_n(name, (size_t)(dot - name)) || !instance_is_valid(dot + 1))
        return false;
    snprintf(pool, NAME_MAX_CHARS + 1, "%.*s", (int)(dot - name), name);
    snprintf(worker, WORKER_NAME_MAX_CHARS + 1, "%s", dot + 1);
    return true;
}
