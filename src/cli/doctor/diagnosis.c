#include "cli/doctor/diagnosis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/output.h"

#define BUSY_HIGH 0.9
#define BUSY_LOW 0.2
#define GROWTH_AFTER_S 8 /* less says nothing */
#define GROWTH_TASKS 5   /* more than that … */
#define GROWTH_PART 0.02 /* … and more than this part of what waits */
#define FULL_PART 0.95
#define STORAGE_PART 0.85
#define TIMEOUTS_MIN 3
#define TIMEOUTS_PART 0.05
#define RISING_BY 1.2
#define HELD_PART 0.4 /* of the time that tasks waited: for tokens, for max_ack_pending … */
#define HOST_CLOCK_MS 1000

static const char *const severities[] = {"note", "warning", "error"};

const char *severity_text(enum severity s)
{
    return severities[s];
}

static struct finding *add(struct findings *out, enum severity severity, const char *code,
                           const char *kind, const char *name)
{
    static struct finding nowhere;
    if (out->count == out->cap) {
        int cap = out->cap ? 2 * out->cap : 16;
        struct finding *grown = realloc(out->list, (size_t)cap * sizeof(*grown));
        if (!grown)
            return &nowhere;
        out->list = grown;
        out->cap = cap;
    }
    struct finding *f = &out->list[out->count++];
    *f = (struct finding){.severity = severity, .code = code};
    snprintf(f->about, sizeof(f->about), "%s%s%s", kind, name[0] ? " " : "", name);
    return f;
}

static void __attribute__((format(printf, 2, 3))) seen(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof(f->text), format, args);
    va_end(args);
}

static void __attribute__((format(printf, 2, 3))) turn(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->fix, sizeof(f->fix), format, args);
    va_end(args);
}

static const char *span(double seconds, char buf[32])
{
    return output_seconds((int64_t)(seconds * 1e9), buf);
}

/* ---- who is there ---- */

static int answered(const struct view *v, const char *program)
{
    int n = 0;
    for (int i = 0; i < v->daemon_count; i++)
        n += v->daemons[i].answered && strcmp(v->daemons[i].program, program) == 0;
    return n;
}

static void look_at_clock(const struct view_daemon *d, struct findings *out)
{
    struct finding *f;
    char by[32];
    if (d->clock_behind_ms != INT64_MIN && d->clock_behind_ms * 1000000 > CLOCK_BEHIND_LIMIT_NS) {
        f = add(out, SEVERITY_WARNING, "server_clock_set_back", d->program, d->name);
        seen(f,
             "the server's clock was set back by %s: delayed submissions are refused until it has "
             "caught up",
             output_seconds(d->clock_behind_ms * 1000000, by));
        turn(f, "keep the servers' clocks in step (chrony, ntpd)");
    }
    int64_t off = d->host_ahead_ms == INT64_MIN ? 0
                  : d->host_ahead_ms < 0        ? -d->host_ahead_ms
                                                : d->host_ahead_ms;
    if (off > HOST_CLOCK_MS) {
        f = add(out, SEVERITY_NOTE, "host_clock", d->program, d->name);
        seen(f, "its host's clock is %s %s of the server's", output_seconds(off * 1000000, by),
             d->host_ahead_ms > 0 ? "ahead" : "behind");
        turn(f, "no task suffers; logs and times that workers write differ: keep clocks in step");
    }
}

static void look_at_daemons(const struct view *v, struct findings *out)
{
    struct finding *f;
    if (!answered(v, "ax-ingress")) {
        f = add(out, SEVERITY_ERROR, "no_ingress", "ax-ingress", "");
        seen(f,
             "none answers: nothing is accepted, and delayed tasks and retries do not come back");
        turn(f, "start ax-ingress; its log says what it waits for");
    }
    if (!answered(v, "ax-dispatch")) {
        f = add(out, SEVERITY_ERROR, "no_dispatch", "ax-dispatch", "");
        seen(f, "none answers: nothing starts");
        turn(f, "start ax-dispatch; its log says what it waits for");
    }
    for (int i = 0; i < v->daemon_count; i++) {
        const struct view_daemon *d = &v->daemons[i];
        if (!d->answered) {
            f = add(out, SEVERITY_ERROR, "daemon_silent", d->program, d->name);
            seen(f, "announced itself and does not answer: it has just died, hangs, or is cut off");
            turn(f, "look at its process, its log and its connection");
            continue;
        }
        if (!d->ready) {
            f = add(out, SEVERITY_WARNING, "daemon_not_ready", d->program, d->name);
            seen(f, "is not ready");
            turn(f, "its /readyz and its log say what it waits for");
        }
        if (d->unknown > 0) {
            f = add(out, SEVERITY_WARNING, "answered_unknown", d->program, d->name);
            seen(f,
                 "%" PRId64 " submissions were answered \"unknown\" in the last five minutes: "
                 "JetStream was silent for 30 s",
                 d->unknown);
            turn(f, "look at nats-server: disk, leaders, network");
        }
        look_at_clock(d, out);
    }
}

/* ---- streams and storage ---- */

static void look_at_stream(const struct view_stream *s, struct findings *out)
{
    struct finding *f;
    if (!s->there) {
        f = add(out, SEVERITY_ERROR, "stream_missing", "stream", s->name);
        seen(f, "is missing");
        turn(f, "a running daemon creates it; or `ax init`");
        return;
    }
    if (!s->has_leader) {
        f = add(out, SEVERITY_ERROR, "stream_no_leader", "stream", s->name);
        seen(f, "has no leader: what needs it stands still");
        turn(f, "bring back a majority of its %d replicas", s->replicas);
    }
    if (s->drops) {
        f = add(out, SEVERITY_ERROR, "stream_drops", "stream", s->name);
        seen(f, "has a limit by which the server removes tasks that are not finished");
        turn(f,
             s->priority >= 0 ? "nats stream edit %s --discard new --max-age=0 -f"
                              : "nats stream edit %s --max-msgs=-1 --max-bytes=-1 --max-age=0 -f",
             s->name);
    }
    int64_t later = s->max_later >= 0 ? s->max_later : 0;
    if (later > 0 && (double)s->messages >= 0.9 * (double)later) {
        f = add(out, SEVERITY_WARNING, "later_nearly_full", "stream", s->name);
        seen(f, "holds %" PRId64 " tasks of at most %" PRId64 ": %s", s->messages, later,
             s->messages >= later ? "delayed submissions are refused"
                                  : "delayed submissions will be refused");
        turn(f,
             "nats stream edit %s --metadata ax.max_later=%" PRId64
             " -f; many retries? then look at why tasks fail",
             s->name, 2 * later);
    }
    if (s->priority < 0 && s->max_bytes > 0 &&
        (double)s->bytes >= FULL_PART * (double)s->max_bytes) {
        f = add(out, SEVERITY_WARNING, "stream_nearly_full", "stream", s->name);
        seen(f, "holds %" PRId64 " MiB of at most %" PRId64, s->bytes >> 20, s->max_bytes >> 20);
        turn(f, "nats stream edit %s --max-bytes %" PRId64 "MiB -f", s->name,
             (s->max_bytes >> 20) * 2);
    }
}

static void look_at_peer(const struct view_peer *peer, struct findings *out)
{
    if (peer->behind + peer->away == 0)
        return;
    struct finding *f = add(out, SEVERITY_WARNING, "replicas_behind", "server", peer->name);
    seen(f,
         "%s: its replicas of %d streams are not up to date; the loss of another server may stop "
         "them",
         peer->away > 0 ? "is away" : "is behind or away", peer->behind + peer->away);
    turn(f, "bring it back, and wait until it has caught up (/healthz of its monitoring port) "
            "before the next restart");
}

/* Which pool has most of the queue. */
static const struct view_pool *fullest(const struct view *v, int priority)
{
    const struct view_pool *most = NULL;
    for (int i = 0; i < v->pool_count; i++) {
        const struct view_pool *p = &v->pools[i];
        if (p->is_counted && p->counts.queued[priority] > 0 &&
            (!most || p->counts.queued[priority] > most->counts.queued[priority]))
            most = p;
    }
    return most;
}

static bool is_full(const struct view_stream *s)
{
    return (s->max_msgs > 0 && (double)s->messages >= FULL_PART * (double)s->max_msgs) ||
           (s->max_bytes > 0 && (double)s->bytes >= FULL_PART * (double)s->max_bytes);
}

static void look_at_queue(const struct view *v, const struct view_stream *s, struct findings *out)
{
    if (s->priority < 0 || !s->there || !is_full(s))
        return;
    const struct priority *pr = &v->priorities.list[s->priority];
    const struct view_pool *most = fullest(v, s->priority);
    int64_t told_busy = 0;
    for (int i = 0; i < v->daemon_count; i++)
        told_busy += v->daemons[i].busy_answers[s->priority];
    struct finding *f = add(out, SEVERITY_WARNING, "queue_full", "queue", pr->name);
    char share[96] = "";
    if (most) {
        snprintf(share, sizeof(share), ", %" PRId64 " of pool %s", most->counts.queued[s->priority],
                 most->name);
    }
    seen(f, "is full (%" PRId64 " tasks%s): %s; %" PRId64 " busy answers in the last five minutes",
         s->messages, share, pr->spill ? "new ones go to the spill" : "producers are told busy",
         told_busy);
    turn(f,
         "see why its pools are slow (below); or a longer queue: nats stream edit %s --max-msgs "
         "%" PRId64 " -f",
         s->name, s->max_msgs > 0 ? 2 * s->max_msgs : -1);
}

static void look_at_account(const char *what, const char *code, int64_t used, int64_t max,
                            const char *setting, struct findings *out)
{
    if (max <= 0 || (double)used < STORAGE_PART * (double)max)
        return;
    struct finding *f = add(out,
                            (double)used >= 0.97 * (double)max ? SEVERITY_ERROR : SEVERITY_WARNING,
                            code, "JetStream", "");
    seen(f,
         "%" PRId64 " of %" PRId64
         " MiB of the account's %s are used: when it is full nothing is stored",
         used >> 20, max >> 20, what);
    turn(f, "raise the account's %s, or free some: windows of pools, AX_DEAD, other streams",
         setting);
}

/* ---- pools ---- */

static bool grows(const struct stats_pool *t)
{
    double rise = (double)t->minute.pending_rise;
    return t->minute.seconds >= GROWTH_AFTER_S && rise >= GROWTH_TASKS &&
           rise >= GROWTH_PART * (double)t->pending;
}

/* A full queue cannot grow: it stays full. */
static bool fills_a_queue(const struct view *v, const struct view_pool *p)
{
    for (int i = 0; i < v->stream_count; i++) {
        const struct view_stream *s = &v->streams[i];
        if (s->priority >= 0 && is_full(s) && p->is_counted &&
            p->counts.queued[s->priority] * 2 > s->messages)
            return true;
    }
    return false;
}

static bool held(const struct stats_pool *t, int64_t seconds)
{
    return seconds > 0 && (double)seconds >= HELD_PART * (double)t->minute.waited_s;
}

static void why_held_back(struct finding *f, const struct view_pool *p)
{
    const struct stats_pool *t = &p->told;
    size_t used = strlen(f->text);
    char *end = f->text + used;
    size_t room = sizeof(f->text) - used;
    bool limited = held(t, t->minute.limited_s);
    if (limited && t->inflight_limit > 0) {
        snprintf(
            end, room,
            "; its rate has adapted to what its workers, and what they use, can stand (%" PRId64
            " tasks at a time)",
            t->inflight_limit);
        turn(f, "look at the run times and errors of its workers, and at what they use");
    } else if (limited) {
        snprintf(end, room, "; its rate (%g starts/s) is used up", t->rate_now);
        turn(f, "ax pool set %s rate=%g, if what the workers use can stand it", p->name,
             t->rate_now * 2);
    } else if (held(t, t->minute.capped_s)) {
        snprintf(end, room, "; max_ack_pending (%" PRId64 ") is used up", t->max_ack_pending);
        turn(f, "nats consumer edit AX_WORK %s --max-pending %" PRId64 " -f", p->name,
             t->max_ack_pending * 2);
    } else if (held(t, t->minute.grouped_s)) {
        snprintf(end, room, "; what waits is of groups that have reached their limits");
        turn(f,
             "as it should be, if that is what they are for; else ax pool set %s "
             "group_concurrency=… or group_rate=…",
             p->name);
    } else {
        snprintf(
            end, room,
            "; neither rate nor max_ack_pending holds it back: ax-dispatch or the server is slow");
        turn(f, "look at the processor time of ax-dispatch and nats-server, the server's disk, and "
                "ax_queue_seconds");
    }
}

/* The three figures together: what waits, and how busy the workers are. */
static void look_at_load(const struct view *v, const struct view_pool *p, struct findings *out)
{
    const struct stats_pool *t = &p->told;
    struct finding *f;
    char ago[32];
    if (t->pending == 0 || (!grows(t) && !fills_a_queue(v, p)))
        return;
    span(t->minute.seconds, ago);
    if (t->busy >= BUSY_HIGH) {
        f = add(out, SEVERITY_WARNING, "workers_busy", "pool", p->name);
        seen(f,
             "its workers are the bottleneck: they are %.0f%% busy, and %" PRId64
             " tasks wait, %+" PRId64 " in %s",
             100 * t->busy, t->pending, t->minute.pending_rise, ago);
        turn(f,
             "more workers, or more places for each, or faster tasks; a higher rate does not help");
    } else if (t->busy >= 0) {
        f = add(out, SEVERITY_WARNING, t->busy <= BUSY_LOW ? "held_back" : "pending_grows", "pool",
                p->name);
        seen(f, "%s: workers are %.0f%% busy, but %" PRId64 " tasks wait, %+" PRId64 " in %s",
             t->busy <= BUSY_LOW ? "its tasks are held back before the workers"
                                 : "more comes than is done",
             100 * t->busy, t->pending, t->minute.pending_rise, ago);
        why_held_back(f, p);
    }
}

static void add_advice(struct findings *out, const char *code, const char *pool,
                       const struct advice *advice)
{
    struct finding *f = add(out, SEVERITY_WARNING, code, "pool", pool);
    seen(f, "%s", advice->text);
    turn(f, "%s", advice->fix);
}

static void look_at_timeouts(const struct view_pool *p, struct findings *out)
{
    const struct stats_pool_recent *m = &p->told.minute, *five = &p->told.five_minutes;
    struct advice advice;
    char ago[32];
    double now = m->ended > 0 ? (double)m->timeouts / (double)m->ended : 0;
    double all = five->ended > 0 ? (double)five->timeouts / (double)five->ended : 0;
    int64_t ended_before = five->ended - m->ended, timeouts_before = five->timeouts - m->timeouts;
    double before = ended_before > 0 ? (double)timeouts_before / (double)ended_before : 0;
    bool many = five->timeouts >= TIMEOUTS_MIN && (now >= TIMEOUTS_PART || all >= TIMEOUTS_PART);
    if (!many) {
        if (stats_late_ack_advice(p->name, &p->told, &advice))
            add_advice(out, "declared_dead", p->name, &advice);
        return;
    }
    bool rising = now >= TIMEOUTS_PART && now > RISING_BY * before;
    struct finding *f = add(out, SEVERITY_WARNING, rising ? "timeouts_rising" : "timeouts", "pool",
                            p->name);
    if (rising) {
        seen(f,
             "its timeout ratio rises: %.0f%% of the attempts that ended in the last %s ended in "
             "silence, %.0f%% "
             "before; %" PRId64 " were acked after all",
             100 * now, span(m->seconds, ago), 100 * before, five->late_acks);
    } else {
        seen(f,
             "%.0f%% of the attempts that ended in the last %s ended in silence; %" PRId64
             " were acked after all",
             100 * all, span(five->seconds, ago), five->late_acks);
    }
    if (2 * five->late_acks >= five->timeouts) {
        turn(f,
             "workers live and are too slow for ack_wait (%s): nats consumer edit AX_WORK %s "
             "--wait DURATION -f, or "
             "let them say "
             "in-progress",
             output_seconds(p->told.ack_wait_ms * 1000000, ago), p->name);
    } else {
        turn(f,
             "workers die, hang or lose their connection: look at their logs, restarts and memory");
    }
}

static void look_at_ack_wait(const struct view_pool *p, struct findings *out)
{
    struct advice advice;
    if (stats_ack_wait_advice(p->name, &p->told, &advice))
        add_advice(out, "ack_wait_short", p->name, &advice);
}

static void look_at_workers(const struct view_pool *p, int64_t waiting, struct findings *out)
{
    const struct pool_counts *n = &p->counts;
    if (waiting + n->handed <= 0 || n->pulls > 0 || n->running > 0 || p->told.busy >= 0)
        return;
    struct finding *f = add(out, SEVERITY_WARNING, "no_workers", "pool", p->name);
    seen(f, "%" PRId64 " tasks wait and no worker asks for any", waiting + n->handed);
    turn(f,
         "start workers on consumer %s of AX_WORK; if they run, look at their connection and "
         "permissions",
         p->name);
}

static void look_at_pool(const struct view *v, const struct view_pool *p, bool dispatch,
                         struct findings *out)
{
    struct finding *f;
    int64_t waiting = 0;
    for (int i = 0; p->is_counted && i < v->priorities.count; i++)
        waiting += p->counts.queued[i] > 0 ? p->counts.queued[i] : 0;
    if (p->is_counted)
        waiting -= p->counts.running > 0 ? p->counts.running : 0;
    waiting = p->told.answered ? p->told.pending : waiting > 0 ? waiting : 0;
    bool missing = p->is_counted && p->counts.ack_wait_ms < 0;
    for (int i = 0; p->is_counted && i < v->priorities.count; i++)
        missing = missing || p->counts.queued[i] < 0;
    if (missing) {
        f = add(out, SEVERITY_WARNING, "consumer_missing", "pool", p->name);
        seen(f, "a consumer of it is missing");
        turn(f, "ax-dispatch creates it within 5 s; or `ax pool add %s`", p->name);
    }
    if (dispatch && !p->told.answered) {
        f = add(out, SEVERITY_ERROR, "no_leader", "pool", p->name);
        seen(f,
             p->counts.leader[0]
                 ? "its leader (%s) does not answer: nothing of it starts; %" PRId64 " tasks wait"
                 : "no dispatcher leads it%s: nothing of it starts; %" PRId64 " tasks wait",
             p->counts.leader, waiting);
        turn(f, "another one takes over when the lease has run out (--lease-ttl); if not, look at "
                "the logs of ax-dispatch");
    }
    bool paused = p->paused || p->told.paused[0] != '\0';
    if (paused) {
        f = add(out, SEVERITY_NOTE, "paused", "pool", p->name);
        seen(f, "is paused by %s; %" PRId64 " tasks wait",
             p->paused ? "its settings" : "its consumer", waiting);
        turn(f, p->paused ? "ax pool resume %s" : "nats consumer resume AX_WORK %s -f", p->name);
    } else {
        look_at_load(v, p, out);
        look_at_workers(p, waiting, out);
    }
    if (!p->told.answered)
        return;
    look_at_timeouts(p, out);
    look_at_ack_wait(p, out);
    char ago[32];
    span(p->told.five_minutes.seconds, ago);
    if (p->told.five_minutes.dead > 0) {
        f = add(out, SEVERITY_WARNING, "dead_letters", "pool", p->name);
        seen(f, "%" PRId64 " dead letters in the last %s", p->told.five_minutes.dead, ago);
        turn(f, "ax dead ls %s; put the cause right; ax dead retry --all --pool %s", p->name,
             p->name);
    }
    if (p->told.five_minutes.leases_lost > 0) {
        f = add(out, SEVERITY_WARNING, "leases_lost", "pool", p->name);
        seen(f,
             "its dispatcher lost the lease %" PRId64
             " times in the last %s: nothing started until it had it again",
             p->told.five_minutes.leases_lost, ago);
        turn(f, "the server did not answer, or ax-dispatch did not run, for --lease-ttl: disks, "
                "memory, processor; or "
                "lengthen it");
    }
    if (p->told.five_minutes.leases_lapsed > 0) {
        f = add(out, SEVERITY_NOTE, "leases_lapsed", "pool", p->name);
        seen(f, "%" PRId64 " leases of queue messages came back in the last %s",
             p->told.five_minutes.leases_lapsed, ago);
        turn(f, "after a restart that is as it should be; else ax-dispatch or nats-server is "
                "overloaded, or was away");
    }
}

/* Stable, worst first. */
static void sort(struct findings *f)
{
    for (int i = 1; i < f->count; i++) {
        struct finding x = f->list[i];
        int k = i;
        for (; k > 0 && f->list[k - 1].severity < x.severity; k--)
            f->list[k] = f->list[k - 1];
        f->list[k] = x;
    }
}

void diagnose(const struct view *v, struct findings *out)
{
    *out = (struct findings){0};
    if (v->trouble[0]) {
        struct finding *f = add(out, SEVERITY_ERROR, "jetstream", "JetStream", "");
        seen(f, "%s", v->trouble);
        turn(f, "look at nats-server and its log; what is said here is incomplete");
    }
    look_at_daemons(v, out);
    for (int i = 0; i < v->stream_count; i++)
        look_at_stream(&v->streams[i], out);
    for (int i = 0; i < v->peer_count; i++)
        look_at_peer(&v->peers[i], out);
    look_at_account("storage", "storage_nearly_full", v->storage, v->storage_max, "max_file_store",
                    out);
    look_at_account("memory", "memory_nearly_full", v->memory, v->memory_max, "max_mem_store", out);
    for (int i = 0; i < v->stream_count; i++)
        look_at_queue(v, &v->streams[i], out);
    bool dispatch = answered(v, "ax-dispatch") > 0;
    for (int i = 0; i < v->pool_count; i++)
        look_at_pool(v, &v->pools[i], dispatch, out);
    sort(out);
}

void findings_free(struct findings *f)
{
    free(f->list);
    *f = (struct findings){0};
}
