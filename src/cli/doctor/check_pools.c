#include "cli/doctor/check_pools.h"

#include <inttypes.h>

#include "base/text/plural.h"
#include "cli/doctor/check_ends.h"
#include "cli/doctor/check_load.h"
#include "cli/output.h"

#define MADE_AGAIN_SAID_S 3600

/* Tasks that wait: as its leader told, else as the server counts them. */
static int64_t waiting(const struct view *v, const struct view_pool *p)
{
    int64_t sum = 0;
    if (p->stats.answered)
        return p->stats.pending;
    if (!p->is_counted)
        return 0;
    for (int i = 0; i < v->priorities.count; i++)
        sum += p->counts.queued[i] > 0 ? p->counts.queued[i] : 0;
    sum -= p->counts.running > 0 ? p->counts.running : 0;
    return sum > 0 ? sum : 0;
}

bool check_pools_is_paused(const struct view_pool *p)
{
    return p->paused || p->stats.paused[0] != '\0';
}

static bool consumer_missing(const struct view *v, const struct view_pool *p, struct finding *f)
{
    bool missing = p->is_counted && p->counts.ack_wait_ms < 0;
    for (int i = 0; p->is_counted && i < v->priorities.count; i++)
        missing = missing || p->counts.queued[i] < 0;
    finding_seen(f, "a consumer of it is missing");
    finding_fix(f, "ax-dispatch creates it within seconds; or `ax pool add %s`", p->name);
    return missing && p->stats.unprovisioned[0] == '\0';
}

/* Said for an hour. Where a pool's settings were not kept, it works at other ones since then. */
static bool consumer_made_again(const struct view *v, const struct view_pool *p, struct finding *f)
{
    const struct pool_counts *n = &p->counts;
    char ago[32];
    (void)v;
    finding_seen(f, "its consumer on AX_WORK was deleted, and was made again %s ago with %s",
                 output_span((double)n->made_again_s, ago),
                 n->made_again_with[0] != '\0' ? n->made_again_with : "default settings");
    finding_fix(f,
                "find out who deletes consumers of AX_WORK; if it is to be otherwise: nats "
                "consumer edit AX_WORK %s",
                p->name);
    return p->is_counted && n->is_made_again && n->made_again_s < MADE_AGAIN_SAID_S;
}

static bool no_leader(const struct view *v, const struct view_pool *p, struct finding *f)
{
    int64_t tasks = waiting(v, p);
    finding_seen(f,
                 p->counts.leader[0] != '\0'
                     ? "its leader (%s) does not answer: nothing of it starts; %" PRId64
                       " task%s wait%s"
                     : "no dispatcher leads it%s: nothing of it starts; %" PRId64 " task%s wait%s",
                 p->counts.leader, tasks, plural_s(tasks), plural_verb(tasks));
    finding_fix(f, "another one takes over when the lease has run out (--lease-ttl); if not, look "
                   "at the logs of ax-dispatch");
    return view_answered(v, "ax-dispatch") > 0 && !p->stats.answered;
}

static bool unprovisioned(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    finding_seen(f, "its consumers cannot be made: %s", p->stats.unprovisioned);
    finding_fix(f, "where a stream has as many consumers as it may: ax pool rm those that nobody "
                   "uses, or raise max_consumers");
    return p->stats.unprovisioned[0] != '\0';
}

static bool settings_unreadable(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    finding_seen(f, "%s", p->unread.text);
    finding_fix(f, "%s", p->unread.fix);
    return p->is_unread;
}

static bool paused(const struct view *v, const struct view_pool *p, struct finding *f)
{
    int64_t tasks = waiting(v, p);
    finding_seen(f, "is paused by %s; %" PRId64 " task%s wait%s",
                 p->paused ? "its settings" : "its consumer", tasks, plural_s(tasks),
                 plural_verb(tasks));
    finding_fix(f, p->paused ? "ax pool resume %s" : "nats consumer resume AX_WORK %s -f", p->name);
    return check_pools_is_paused(p) && !p->is_unread;
}

static bool no_workers(const struct view *v, const struct view_pool *p, struct finding *f)
{
    const struct pool_counts *n = &p->counts;
    int64_t tasks = waiting(v, p) + n->handed;
    if (check_pools_is_paused(p) || tasks <= 0 || n->pulls > 0 || n->running > 0 ||
        p->stats.busy >= 0)
        return false;
    finding_seen(f, "%" PRId64 " task%s wait%s and no worker asks for any", tasks, plural_s(tasks),
                 plural_verb(tasks));
    finding_fix(f,
                "start workers on consumer %s of AX_WORK; if they run, look at their connection "
                "and permissions",
                p->name);
    return true;
}

static const struct check_pools_row rows_of_state[] = {
    {SEVERITY_WARNING, "consumer_missing", consumer_missing},
    {SEVERITY_NOTE, "consumer_made_again", consumer_made_again},
    {SEVERITY_ERROR, "no_leader", no_leader},
    {SEVERITY_ERROR, "unprovisioned", unprovisioned},
    {SEVERITY_ERROR, "settings_unreadable", settings_unreadable},
    {SEVERITY_NOTE, "paused", paused},
    {SEVERITY_WARNING, "no_workers", no_workers},
};

void check_pools_run(const struct check_pools_row *rows, size_t count, const struct view *v,
                     const struct view_pool *p, struct findings *out)
{
    for (size_t i = 0; i < count; i++) {
        struct finding f = finding_begin(rows[i].severity, rows[i].code, "pool", p->name);
        if (rows[i].is_so(v, p, &f))
            findings_take(out, &f);
    }
}

void check_pools(const struct view *v, struct findings *out)
{
    for (int i = 0; i < v->pool_count; i++) {
        const struct view_pool *p = &v->pools[i];
        check_pools_run(rows_of_state, sizeof(rows_of_state) / sizeof(rows_of_state[0]), v, p, out);
        check_load(v, p, out);
        check_ends(v, p, out);
    }
}
