#include "task/peer/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ax/v1/worker.pb-c.h"
#include "base/memory.h"

#define SHOWN_MAX 60
#define JSON_MAX_BYTES 4096

static const struct field {
    const char *name;
    size_t offset;
    bool real;
    double most;
} fields[] = {
    {"capacity", offsetof(struct report, capacity), false, REPORT_CAPACITY_MAX},
    {"busy", offsetof(struct report, busy), false, REPORT_CAPACITY_MAX},
    {"load", offsetof(struct report, load), true, 1},
    {"errors", offsetof(struct report, errors), false, REPORT_ERRORS_MAX},
    {"p50_ms", offsetof(struct report, p50_ms), true, REPORT_MS_MAX},
    {"p99_ms", offsetof(struct report, p99_ms), true, REPORT_MS_MAX},
};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static ax_err out_of_range(const struct field *f, const char *shown, struct problem *p)
{
    return problem_set(p, AX_E_INVALID, "%s: %s is not allowed, must be a %s from 0 to %.12g",
                       f->name, shown, f->real ? "number" : "whole number", f->most);
}

static ax_err put(struct report *r, const struct field *f, double value, struct problem *p)
{
    char shown[40];
    void *at = (char *)r + f->offset;
    if (!(value >= 0 && value <= f->most)) {
        snprintf(shown, sizeof(shown), "%.12g", value);
        return out_of_range(f, shown, p);
    }
    if (f->real)
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

static const char *show(const json_t *value, char buf[SHOWN_MAX + 4])
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
    snprintf(buf, SHOWN_MAX + 4, "%.*s%s", SHOWN_MAX, text != NULL ? text : "?",
             text != NULL && strlen(text) > SHOWN_MAX ? "..." : "");
    free(text);
    return buf;
}

static ax_err put_json(struct report *r, const char *name, const json_t *value, struct problem *p)
{
    char shown[SHOWN_MAX + 4];
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *f = &fields[i];
        if (strcmp(f->name, name) != 0)
            continue;
        if (f->real ? !json_is_number(value) : !json_is_integer(value))
            return out_of_range(f, show(value, shown), p);
        return put(r, f, json_number_value(value), p);
    }
    json_t *quoted = json_stringn(name, strnlen(name, SHOWN_MAX + 1));
    show(quoted, shown);
    json_decref(quoted);
    return problem_set(
        p, AX_E_INVALID,
        "%s is no field of a report; allowed: capacity, busy, load, errors, p50_ms, p99_ms", shown);
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
    static const uint8_t nothing[1];
    bool refused;
    ProtobufCAllocator allocator = memory_allocator(&refused);
    Ax__V1__WorkerReport *m = ax__v1__worker_report__unpack(&allocator, bytes,
                                                            bytes > 0 ? data : nothing);
    if (m == NULL && refused)
        return problem_set(p, AX_E_NOMEM, "out of memory");
    if (m == NULL) {
        return problem_set(p, AX_E_INVALID,
                           "the %zu bytes are not an " WORKER_SCHEMA " message, which " HDR_SCHEMA
                           " announces",
                           bytes);
    }
    const double values[FIELD_COUNT] = {m->capacity, m->busy,   m->load,
                                        m->errors,   m->p50_ms, m->p99_ms};
    ax_err err = AX_OK;
    for (size_t i = 0; err == AX_OK && i < FIELD_COUNT; i++)
        err = put(r, &fields[i], values[i], p);
    ax__v1__worker_report__free_unpacked(m, &allocator);
    return err;
}

/* ---- */

size_t report_pack(const struct report *r, uint8_t *buf)
{
    Ax__V1__WorkerReport m = AX__V1__WORKER_REPORT__INIT;
    m.capacity = r->capacity;
    m.busy = r->busy;
    m.load = r->load;
    m.errors = r->errors;
    m.p50_ms = r->p50_ms;
    m.p99_ms = r->p99_ms;
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

bool report_worker_is_valid(const char *name)
{
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return n >= 1 && n <= WORKER_NAME_MAX_CHARS && name[n] == '\0';
}

bool report_parse_subject(const char *subject, char pool[NAME_MAX_CHARS + 1],
                          char worker[WORKER_NAME_MAX_CHARS + 1])
{
    if (strncmp(subject, WORKER_PREFIX, strlen(WORKER_PREFIX)) != 0)
        return false;
    const char *name = subject + strlen(WORKER_PREFIX), *dot = strchr(name, '.');
    if (dot == NULL || !name_is_valid_n(name, (size_t)(dot - name)) ||
        !report_worker_is_valid(dot + 1))
        return false;
    snprintf(pool, NAME_MAX_CHARS + 1, "%.*s", (int)(dot - name), name);
    snprintf(worker, WORKER_NAME_MAX_CHARS + 1, "%s", dot + 1);
    return true;
}
