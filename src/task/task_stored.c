/* Tasks as AX's own streams hold them. Lenient: anyone may publish there by hand, and a task there
 * is never refused for a header that cannot be read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "task/task.h"
#include "task/task_headers.h"
#include "task/task_rules.h"

static int64_t number(const char *s, int64_t min, int64_t max, int64_t otherwise)
{
    size_t n = strlen(s);
    if (n < 1 || n > 19 || strspn(s, "0123456789") != n) {
        return otherwise;
    }
    errno = 0;
    long long v = strtoll(s, NULL, 10);
    return errno == 0 && v >= min && v <= max ? v : otherwise;
}

static void take_ax_header(struct task *t, const char *name, const char *value)
{
    if (strcmp(name, HDR_KEY) == 0) {
        task_rule_key(t, name, value, NULL);
    } else if (strcmp(name, HDR_GROUP) == 0) {
        task_rule_group(t, name, value, NULL);
    } else if (strcmp(name, HDR_ORDERED) == 0) {
        task_rule_ordered(t, name, value, NULL);
    } else if (strcmp(name, HDR_ATTEMPT) == 0) {
        t->attempt = (uint32_t)number(value, 1, UINT32_MAX, 1);
    } else if (strcmp(name, HDR_TIMEOUTS) == 0) {
        t->timeouts = (uint32_t)number(value, 0, UINT32_MAX, 0);
    } else if (strcmp(name, HDR_MAX_RETRY) == 0) {
        task_rule_max_retry(t, name, value, NULL);
    } else if (strcmp(name, HDR_BACKOFF) == 0) {
        task_rule_backoff(t, name, value, NULL);
    } else if (strcmp(name, HDR_SUBMITTED) == 0) {
        t->submitted = number(value, 0, INT64_MAX, 0);
    } else if (strcmp(name, HDR_RETRIED) == 0) {
        t->retried = (uint64_t)number(value, 0, INT64_MAX, 0);
    } else if (strcmp(name, HDR_TIMEOUT) == 0) {
        task_rule_timeout(t, name, value, NULL);
    } else if (strcmp(name, HDR_EXPIRES) == 0) {
        int64_t ns;
        t->expires_ns = clock_parse_rfc3339(value, &ns) && ns > 0 ? ns : 0;
    } else if (strcmp(name, HDR_PRIORITY) == 0 && !*t->priority && name_is_valid(value)) {
        strcpy(t->priority, value);
    }
}

static void take_cron_header(struct task *t, const char *name, const char *value)
{
    if (strcmp(name, HDR_CRON) == 0) {
        task_rule_cron(t, name, value, NULL);
    } else if (strcmp(name, HDR_TIME_ZONE) == 0) {
        task_rule_time_zone(t, name, value, NULL);
    } else if (strcmp(name, HDR_OVERLAP) == 0) {
        task_rule_overlap(t, name, value, NULL);
    }
}

struct reading {
    struct task *task;
    bool may_be_schedule;
};

static ax_err take_header(void *arg, const struct task_header_value *h)
{
    struct reading *r = arg;
    struct task *t = r->task;
    if (!h->whole) {
        return AX_OK;
    }
    if (task_header_is_ax(h->name)) {
        if (h->index == 0) {
            take_ax_header(t, h->name, h->value);
            if (r->may_be_schedule) {
                take_cron_header(t, h->name, h->value);
            }
        }
        return AX_OK;
    }
    if (task_header_is_nats(h->name)) {
        return AX_OK;
    }
    ax_err err = task_rule_pass(t, "header", h->name, h->value, NULL);
    return err == AX_E_NOMEM ? err : AX_OK;
}

ax_err task_from_stored_at(struct task *t, const char *subject, natsMsg *msg, struct problem *p)
{
    task_init(t);
    struct task_subject names;
    if (!name_parse_task_subject(subject, &names)) {
        char quoted[TASK_QUOTE_MAX];
        return problem_set(
            p, AX_E_INVALID,
            "subject %s names no task; it must be ax.<stage>[.<priority>].<pool>.<id>",
            task_quote(subject, quoted));
    }
    strcpy(t->priority, names.priority);
    strcpy(t->pool, names.pool);
    strcpy(t->id, names.id);
    t->body = natsMsg_GetData(msg);
    t->body_bytes = (size_t)natsMsg_GetDataLength(msg);
    struct reading r = {t, strcmp(names.stage, "later") == 0 || strcmp(names.stage, "due") == 0};
    if (task_headers_each(msg, take_header, &r) == AX_E_NOMEM) {
        task_clear(t);
        return problem_set(p, AX_E_NOMEM, "out of memory");
    }
    if (!*t->priority) {
        strcpy(t->priority, "normal");
    }
    return AX_OK;
}

ax_err task_from_stored(struct task *t, natsMsg *msg, struct problem *p)
{
    return task_from_stored_at(t, natsMsg_GetSubject(msg), msg, p);
}
