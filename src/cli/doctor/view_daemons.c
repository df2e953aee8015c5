#include "cli/doctor/view_daemons.h"

#include <stdio.h>
#include <string.h>

#include "cli/streams/stored.h"
#include "cli/streams/stored_subjects.h"
#include "task/peer/presence.h"

struct reading {
    natsConnection *nc;
    struct view *view;
};

static struct view_daemon *daemon_of(struct view *v, const char *program, const char *name)
{
    for (int i = 0; i < v->daemon_count; i++) {
        if (strcmp(v->daemons[i].name, name) == 0)
            return &v->daemons[i];
    }
    if (v->daemon_count == VIEW_DAEMONS_MAX)
        return NULL;
    struct view_daemon *d = &v->daemons[v->daemon_count++];
    *d = (struct view_daemon){.clock_behind_ms = INT64_MIN, .host_ahead_ms = INT64_MIN};
    snprintf(d->program, sizeof(d->program), "%s", program);
    snprintf(d->name, sizeof(d->name), "%s", name);
    return d;
}

/* The subject is that of a dispatcher's presence. One that cannot be read has expired meanwhile. */
static ax_err read_presence(void *arg, const char *subject, struct problem *p)
{
    struct reading *r = arg;
    struct stored s;
    struct presence presence;
    (void)p;
    if (stored_last(r->nc, STREAM_LEASES, subject, &s, NULL) != AX_OK)
        return AX_OK;
    if (presence_unpack(&presence, natsMsg_GetData(s.msg), (size_t)natsMsg_GetDataLength(s.msg)) ==
            AX_OK &&
        !presence.leaving)
        daemon_of(r->view, "ax-dispatch", presence.name);
    stored_clear(&s);
    return AX_OK;
}

ax_err view_daemons_read_announced(natsConnection *nc, struct view *v, struct problem *p)
{
    struct reading r = {nc, v};
    return stored_subjects(nc, STREAM_LEASES, DISPATCHERS_PREFIX ">", read_presence, &r, NULL, p);
}

bool view_daemons_all_answered(void *arg, const json_t *answers)
{
    const struct view *v = arg;
    for (int i = 0; i < v->daemon_count; i++) {
        if (!stats_query_by(answers, v->daemons[i].name))
            return false;
    }
    return stats_query_count(answers, "ax-ingress") > 0 &&
           stats_query_count(answers, "ax-dispatch") > 0;
}

static void read_busy_answers(const struct view *v, struct view_daemon *d, const json_t *answer)
{
    size_t i;
    json_t *o;
    struct stats_priority stats;
    json_array_foreach(json_object_get(answer, "priorities"), i, o) {
        stats_answer_read_priority(o, &stats);
        int k = priorities_find(&v->priorities, stats.priority);
        if (k >= 0)
            d->busy_answers[k] = stats.busy_answers;
    }
}

static void read_daemon(struct view *v, const json_t *answer)
{
    struct stats_daemon self;
    struct stats_ingress stats;
    stats_answer_read_daemon(answer, &self);
    struct view_daemon *d = self.program[0] != '\0' && self.name[0] != '\0'
                                ? daemon_of(v, self.program, self.name)
                                : NULL;
    if (d == NULL)
        return;
    stats_answer_read_ingress(answer, &stats);
    d->answered = true;
    d->ready = self.ready;
    d->clock_behind_ms = self.clock_behind_ms;
    d->host_ahead_ms = self.host_clock_ahead_ms;
    d->unknown = stats.five_minutes.unknown;
    d->refused = stats.five_minutes.refused;
    d->gaps = stats.five_minutes.gaps;
    d->unreadable = stats.five_minutes.unreadable;
    read_busy_answers(v, d, answer);
}

void view_daemons_read_stats(struct view *v, const json_t *answers)
{
    size_t i;
    json_t *answer;
    json_array_foreach(answers, i, answer)
        read_daemon(v, answer);
}
