#include "task/task.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "task/header.h"

void task_clear(struct task *t)
{
    free(t->headers);
    t->headers = NULL;
    t->header_count = 0;
}

/* One header line: "name: value\r\n". */
static size_t line_bytes(const char *name, const char *value)
{
    return strlen(name) + strlen(value) + 4;
}

ax_err task_check_size(const struct task *t, int64_t max_payload_bytes, struct problem *p)
{
    size_t headers = (t->key ? line_bytes(HDR_KEY, t->key) : 0) +
                     (t->group ? line_bytes(HDR_GROUP, t->group) : 0);
    for (size_t i = 0; i < t->header_count; i++) {
        headers += line_bytes(t->headers[i].name, t->headers[i].value);
    }
    int64_t fits = max_payload_bytes - TASK_RESERVE_BYTES;
    if (t->body_bytes <= INT_MAX && (int64_t)(t->body_bytes + headers) <= fits) {
        return AX_OK;
    }
    return problem_set(p, AX_E_TOO_LONG,
                       "size: a body of %zu bytes with key and headers of %zu is not allowed; "
                       "together they must be "
                       "at most %" PRId64 " (the server's max_payload of %" PRId64
                       ", less %d for AX's own headers)",
                       t->body_bytes, headers, fits > 0 ? fits : 0, max_payload_bytes,
                       TASK_RESERVE_BYTES);
}

static natsStatus set_number(natsMsg *msg, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    return header_set(msg, name, text);
}

static natsStatus set_duration(natsMsg *msg, const char *name, int64_t ms)
{
    char text[24];
    bool whole_seconds = ms % 1000 == 0;
    snprintf(text, sizeof(text), "%" PRId64 "%s", whole_seconds ? ms / 1000 : ms,
             whole_seconds ? "s" : "ms");
    return header_set(msg, name, text);
}

static natsStatus set_time(natsMsg *msg, const char *name, int64_t ns)
{
    char text[40];
    return header_set(msg, name, clock_format_rfc3339(ns, text));
}

/* Workers and operators read hand-offs and dead letters; the other stages are read by AX, which has
 * id and priority from the subject. */
static bool is_for_people(const char *subject)
{
    return strncmp(subject, "ax.work.", 8) == 0 || strncmp(subject, "ax.dead.", 8) == 0;
}

static bool may_be_schedule(const char *subject)
{
    return strncmp(subject, "ax.later.", 9) == 0 || strncmp(subject, "ax.due.", 7) == 0;
}

static natsStatus set_schedule(const struct task *t, natsMsg *msg)
{
    natsStatus s = header_set(msg, HDR_CRON, t->cron);
    if (s == NATS_OK && t->time_zone) {
        s = header_set(msg, HDR_TIME_ZONE, t->time_zone);
    }
    if (s == NATS_OK && t->overlap != TASK_OVERLAP_DEFAULT) {
        s = header_set(msg, HDR_OVERLAP, t->overlap == TASK_OVERLAP_SKIP ? "skip" : "queue");
    }
    return s;
}

/* Each header costs nats.c several allocations, and the server its bytes: what says nothing beyond
 * subject and default is left out. */
static natsStatus set_headers(const struct task *t, const char *subject, natsMsg *msg)
{
    bool all = is_for_people(subject);
    natsStatus s = NATS_OK;
    if (all) {
        s = header_set(msg, HDR_TASK, t->id);
    }
    if (s == NATS_OK && all) {
        s = header_set(msg, HDR_PRIORITY, t->priority);
    }
    if (s == NATS_OK && t->key) {
        s = header_set(msg, HDR_KEY, t->key);
    }
    if (s == NATS_OK && t->group) {
        s = header_set(msg, HDR_GROUP, t->group);
    }
    if (s == NATS_OK && t->ordered) {
        s = header_set(msg, HDR_ORDERED, "true");
    }
    if (s == NATS_OK && (all || t->attempt > 1)) {
        s = set_number(msg, HDR_ATTEMPT, t->attempt);
    }
    if (s == NATS_OK && t->timeouts > 0) {
        s = set_number(msg, HDR_TIMEOUTS, t->timeouts);
    }
    if (s == NATS_OK && t->max_retry >= 0) {
        s = set_number(msg, HDR_MAX_RETRY, t->max_retry);
    }
    if (s == NATS_OK && t->backoff_ms > 0) {
        s = set_duration(msg, HDR_BACKOFF, t->backoff_ms);
    }
    if (s == NATS_OK && t->submitted > 0) {
        s = set_number(msg, HDR_SUBMITTED, t->submitted);
    }
    if (s == NATS_OK && t->retried > 0) {
        s = set_number(msg, HDR_RETRIED, (int64_t)t->retried);
    }
    if (s == NATS_OK && t->expires_ns > 0) {
        s = set_time(msg, HDR_EXPIRES, t->expires_ns);
    }
    if (s == NATS_OK && t->timeout_ms > 0) {
        s = set_duration(msg, HDR_TIMEOUT, t->timeout_ms);
    }
    if (s == NATS_OK && t->cron && may_be_schedule(subject)) {
        s = set_schedule(t, msg);
    }
    for (size_t i = 0; s == NATS_OK && i < t->header_count; i++) {
        s = natsMsgHeader_Add(msg, t->headers[i].name, t->headers[i].value);
    }
    return s;
}

ax_err task_to_msg(const struct task *t, const char *subject, const char *reply, natsMsg **out)
{
    *out = NULL;
    if (t->body_bytes > INT_MAX) {
        return AX_E_TOO_LONG;
    }
    natsMsg *msg = NULL;
    natsStatus s = natsMsg_Create(&msg, subject, reply, t->body_bytes ? t->body : NULL,
                                  (int)t->body_bytes);
    if (s == NATS_OK) {
        s = set_headers(t, subject, msg);
    }
    if (s != NATS_OK) {
        natsMsg_Destroy(msg);
        return s == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_INVALID;
    }
    *out = msg;
    return AX_OK;
}
