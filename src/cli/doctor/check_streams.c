#include "cli/doctor/check_streams.h"

#include <inttypes.h>
#include <stdio.h>

#define FULL_PART 0.95
#define LATER_PART 0.9
#define STORAGE_PART 0.85
#define STORAGE_ERROR_PART 0.97

static bool has_reached(int64_t value, double part, int64_t max)
{
    return max > 0 && (double)value >= part * (double)max;
}

bool check_streams_is_full(const struct view_stream *s)
{
    return has_reached(s->messages, FULL_PART, s->max_msgs) ||
           has_reached(s->bytes, FULL_PART, s->max_bytes);
}

/* ---- of one stream */

static bool stream_missing(const struct view_stream *s, struct finding *f)
{
    finding_seen(f, "is missing");
    finding_fix(f, "a running daemon creates it; or `ax init`");
    return !s->there;
}

static bool stream_no_leader(const struct view_stream *s, struct finding *f)
{
    finding_seen(f, "has no leader: what needs it stands still");
    finding_fix(f, "bring back a majority of its %d replicas", s->replicas);
    return s->there && !s->has_leader;
}

static bool stream_drops(const struct view_stream *s, struct finding *f)
{
    finding_seen(f, "has a limit by which the server removes tasks that are not finished");
    finding_fix(f,
                s->priority >= 0
                    ? "nats stream edit %s --discard new --max-age=0 -f"
                    : "nats stream edit %s --max-msgs=-1 --max-bytes=-1 --max-age=0 -f",
                s->name);
    return s->there && s->drops;
}

static bool later_nearly_full(const struct view_stream *s, struct finding *f)
{
    finding_seen(f, "holds %" PRId64 " tasks of at most %" PRId64 ": %s", s->messages, s->max_later,
                 s->messages >= s->max_later ? "delayed submissions are refused"
                                             : "delayed submissions will be refused");
    finding_fix(f,
                "nats stream edit %s --metadata ax.max_later=%" PRId64
                " -f; many retries? then look at why tasks fail",
                s->name, 2 * s->max_later);
    return s->there && has_reached(s->messages, LATER_PART, s->max_later);
}

static bool stream_nearly_full(const struct view_stream *s, struct finding *f)
{
    finding_seen(f, "holds %" PRId64 " MiB of at most %" PRId64, s->bytes >> 20,
                 s->max_bytes >> 20);
    finding_fix(f, "nats stream edit %s --max-bytes %" PRId64 "MiB -f", s->name,
                (s->max_bytes >> 20) * 2);
    return s->there && s->priority < 0 && has_reached(s->bytes, FULL_PART, s->max_bytes);
}

static const struct {
    enum severity severity;
    const char *code;
    bool (*is_so)(const struct view_stream *s, struct finding *f);
} of_stream[] = {
    {SEVERITY_ERROR, "stream_missing", stream_missing},
    {SEVERITY_ERROR, "stream_no_leader", stream_no_leader},
    {SEVERITY_ERROR, "stream_drops", stream_drops},
    {SEVERITY_WARNING, "later_nearly_full", later_nearly_full},
    {SEVERITY_WARNING, "stream_nearly_full", stream_nearly_full},
};

static void check_stream(const struct view_stream *s, struct findings *out)
{
    for (size_t i = 0; i < sizeof(of_stream) / sizeof(of_stream[0]); i++) {
        struct finding f = finding_begin(of_stream[i].severity, of_stream[i].code, "stream",
                                         s->name);
        if (of_stream[i].is_so(s, &f))
            findings_take(out, &f);
    }
}

/* ---- of servers and of the account */

static void replicas_behind(const struct view_peer *peer, struct findings *out)
{
    if (peer->behind + peer->away == 0)
        return;
    struct finding f = finding_begin(SEVERITY_WARNING, "replicas_behind", "server", peer->name);
    finding_seen(&f,
                 "%s: its replicas of %d streams are not up to date; the loss of another server "
                 "may stop them",
                 peer->away > 0 ? "is away" : "is behind or away", peer->behind + peer->away);
    finding_fix(&f, "bring it back, and wait until it has caught up (/healthz of its monitoring "
                    "port) before the next restart");
    findings_take(out, &f);
}

static void nearly_full(const char *what, const char *code, int64_t used, int64_t max,
                        const char *setting, struct findings *out)
{
    if (!has_reached(used, STORAGE_PART, max))
        return;
    bool is_error = has_reached(used, STORAGE_ERROR_PART, max);
    struct finding f = finding_begin(is_error ? SEVERITY_ERROR : SEVERITY_WARNING, code,
                                     "JetStream", "");
    finding_seen(&f,
                 "%" PRId64 " of %" PRId64
                 " MiB of the account's %s are used: when it is full nothing is stored",
                 used >> 20, max >> 20, what);
    finding_fix(&f,
                "raise the account's %s, or free some: windows of pools, AX_DEAD, other streams",
                setting);
    findings_take(out, &f);
}

/* ---- of one priority's queue */

/* The pool with most tasks of this priority; NULL: none has any. */
static const struct view_pool *fullest(const struct view *v, int priority)
{
    const struct view_pool *most = NULL;
    for (int i = 0; i < v->pool_count; i++) {
        const struct view_pool *p = &v->pools[i];
        if (p->is_counted && p->counts.queued[priority] > 0 &&
            (most == NULL || p->counts.queued[priority] > most->counts.queued[priority]))
            most = p;
    }
    return most;
}

static int64_t busy_answers(const struct view *v, int priority)
{
    int64_t sum = 0;
    for (int i = 0; i < v->daemon_count; i++)
        sum += v->daemons[i].busy_answers[priority];
    return sum;
}

static void queue_full(const struct view *v, const struct view_stream *s, struct findings *out)
{
    if (s->priority < 0 || !s->there || !check_streams_is_full(s))
        return;
    const struct priority *pr = &v->priorities.list[s->priority];
    const struct view_pool *most = fullest(v, s->priority);
    struct finding f = finding_begin(SEVERITY_WARNING, "queue_full", "queue", pr->name);
    char share[96] = "";
    if (most != NULL) {
        snprintf(share, sizeof(share), ", %" PRId64 " of pool %s", most->counts.queued[s->priority],
                 most->name);
    }
    finding_seen(
        &f, "is full (%" PRId64 " tasks%s): %s; %" PRId64 " busy answers in the last five minutes",
        s->messages, share, pr->spill ? "new ones go to the spill" : "producers are told busy",
        busy_answers(v, s->priority));
    finding_fix(&f,
                "see why its pools are slow (below); or a longer queue: nats stream edit %s "
                "--max-msgs %" PRId64 " -f",
                s->name, s->max_msgs > 0 ? 2 * s->max_msgs : -1);
    findings_take(out, &f);
}

void check_streams(const struct view *v, struct findings *out)
{
    for (int i = 0; i < v->stream_count; i++)
        check_stream(&v->streams[i], out);
    for (int i = 0; i < v->peer_count; i++)
        replicas_behind(&v->peers[i], out);
    nearly_full("storage", "storage_nearly_full", v->storage, v->storage_max, "max_file_store",
                out);
    nearly_full("memory", "memory_nearly_full", v->memory, v->memory_max, "max_mem_store", out);
    for (int i = 0; i < v->stream_count; i++)
        queue_full(v, &v->streams[i], out);
}
