#include "task/cron.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/duration.h"
#include "base/text/quote.h"
#include "base/text/rfc3339.h"
#include "task/header.h"
#include "task/task_rule.h"

#define EVERY "@every "
#define EVERY_MAX_MS TASK_DELAY_MAX_MS
#define FIELDS "six fields: second minute hour day month weekday, or the last five"
#define NEVER "@at 2200-01-01T00:00:00Z"

static const char *const names[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                    "@daily",  "@midnight", "@hourly"};

static bool is_every(const char *cron)
{
    return strncmp(cron, EVERY, strlen(EVERY)) == 0;
}

/* The server takes fractions and rounds them; whole seconds mean what they say. */
static bool parse_every(const char *cron, int64_t *out_s)
{
    int64_t ms;
    if (!duration_parse(cron + strlen(EVERY), EVERY_MAX_MS, &ms) || ms < 1000 || ms % 1000 != 0)
        return false;
    *out_s = ms / 1000;
    return true;
}

static int count_fields(const char *cron)
{
    int n = 0;
    for (const char *c = cron; *c;) {
        c += strspn(c, " ");
        n += *c != '\0';
        c += strcspn(c, " ");
    }
    return n;
}

ax_err cron_check(const struct task *t, struct problem *p)
{
    char quoted[QUOTE_MAX];
    const char *cron = t->cron;
    int64_t seconds;
    if (is_every(cron)) {
        if (!parse_every(cron, &seconds)) {
            return problem_set(p, AX_E_INVALID,
                               "%s: %s is not allowed; it must be " EVERY
                               "and a duration of whole seconds from 1s to "
                               "365d, such as " EVERY "10m",
                               HDR_CRON, quote_text(cron, quoted));
        }
        if (t->time_zone != NULL) {
            return problem_set(p, AX_E_INVALID, "%s is given with %s %s, which has no use for one",
                               HDR_TIME_ZONE, HDR_CRON, quote_text(cron, quoted));
        }
        return AX_OK;
    }
    if (*cron == '@') {
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            if (strcmp(cron, names[i]) == 0)
                return AX_OK;
        }
        return problem_set(p, AX_E_INVALID,
                           "%s: %s is not allowed; it must be " EVERY
                           "10m, @hourly, @daily, @midnight, @weekly, "
                           "@monthly, @yearly, @annually, or " FIELDS,
                           HDR_CRON, quote_text(cron, quoted));
    }
    int fields = count_fields(cron);
    if (fields != 6 && fields != 5) {
        return problem_set(p, AX_E_INVALID,
                           "%s: %s is not allowed; it has %d field%s and must have " FIELDS,
                           HDR_CRON, quote_text(cron, quoted), fields, fields == 1 ? "" : "s");
    }
    return AX_OK;
}

ax_err cron_refused(const struct task *t, bool for_zone, struct problem *p)
{
    char quoted[QUOTE_MAX];
    if (for_zone) {
        return problem_set(p, AX_E_INVALID,
                           "%s: %s is not a time zone that the server knows; it must be the name "
                           "of an IANA time zone, "
                           "such as Europe/Zurich",
                           HDR_TIME_ZONE,
                           quote_text(t->time_zone != NULL ? t->time_zone : "", quoted));
    }
    return problem_set(p, AX_E_INVALID,
                       "%s: %s is not allowed; it must have " FIELDS
                       ", each within its range, and name a time that "
                       "comes within five years",
                       HDR_CRON, quote_text(t->cron, quoted));
}

char *cron_schedule(const char *cron, char out[CRON_SCHEDULE_MAX])
{
    int64_t seconds;
    if (is_every(cron) && parse_every(cron, &seconds)) {
        /* the server knows no days */
        snprintf(out, CRON_SCHEDULE_MAX, EVERY "%" PRId64 "s", seconds);
    } else {
        /* as crontab has it, at the full minute */
        snprintf(out, CRON_SCHEDULE_MAX, "%s%s", count_fields(cron) == 5 ? "0 " : "", cron);
    }
    return out;
}

ax_err cron_set_schedule(natsMsg *msg, const struct task *t, bool paused)
{
    char schedule[CRON_SCHEDULE_MAX], target[SUBJECT_MAX_CHARS];
    name_subject(target, "due", t->priority, t->pool, t->id);
    natsStatus s = header_set(msg, HDR_SCHEDULE_TARGET, target);
    if (s == NATS_OK)
        s = header_set(msg, HDR_SCHEDULE, paused ? NEVER : cron_schedule(t->cron, schedule));
    if (s == NATS_OK && paused)
        s = header_set(msg, HDR_PAUSED, "1");
    if (s == NATS_OK && !paused && t->time_zone != NULL)
        s = header_set(msg, HDR_SCHEDULE_ZONE, t->time_zone);
    return s == NATS_OK ? AX_OK : AX_E_NOMEM;
}

static const char *header(natsMsg *msg, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, name, &value) == NATS_OK && value && *value ? value : NULL;
}

bool cron_is_paused(natsMsg *msg)
{
    return header(msg, HDR_PAUSED) != NULL;
}

bool cron_is_schedule(natsMsg *msg)
{
    return header(msg, HDR_CRON) != NULL;
}

void cron_firing_id_of(const char *schedule_id, int64_t submitted, const char *mark,
                       char out[TASK_ID_CHARS + 1])
{
    char firing[192];
    int n = snprintf(firing, sizeof(firing), "%" PRId64 ".%s", submitted, mark);
    name_task_id(schedule_id, firing, n < (int)sizeof(firing) ? (size_t)n : sizeof(firing) - 1,
                 out);
}

void cron_firing_id(const char *schedule_id, int64_t submitted, natsMsg *due, uint64_t seq,
                    int64_t time_ns, char out[TASK_ID_CHARS + 1])
{
    char own[64];
    const char *mark = header(due, HDR_SCHEDULE_NEXT);
    if (mark == NULL || strcmp(mark, "purge") == 0)
        mark = header(due, HDR_MSG_ID);
    if (mark == NULL) {
        snprintf(own, sizeof(own), "%" PRIu64 ".%" PRId64, seq, time_ns);
        mark = own;
    }
    cron_firing_id_of(schedule_id, submitted, mark, out);
}

char *cron_firing_key(const char *key, int64_t time_ns, char out[CRON_KEY_MAX])
{
    char time[40];
    rfc3339_format(time_ns - time_ns % 1000000000, time);
    time[strlen("2030-01-31T09:00:00")] = '\0';
    snprintf(out, CRON_KEY_MAX, "%.*s@%sZ", TASK_CRON_KEY_MAX_BYTES, key ? key : "", time);
    return out;
}
