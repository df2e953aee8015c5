#include "cli/doctor/check_daemons.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/saturate.h"
#include "cli/output.h"

#define HOST_CLOCK_MS 1000

/* ---- of the whole */

static bool jetstream(const struct view *v, struct finding *f)
{
    finding_seen(f, "%s", v->trouble);
    finding_fix(f, "look at nats-server and its log; what is said here is incomplete");
    return v->trouble[0] != '\0';
}

static bool no_ingress(const struct view *v, struct finding *f)
{
    finding_seen(
        f, "none answers: nothing is accepted, and delayed tasks and retries do not come back");
    finding_fix(f, "start ax-ingress; its log says what it waits for");
    return view_answered(v, "ax-ingress") == 0;
}

static bool no_dispatch(const struct view *v, struct finding *f)
{
    finding_seen(f, "none answers: nothing starts");
    finding_fix(f, "start ax-dispatch; its log says what it waits for");
    return view_answered(v, "ax-dispatch") == 0;
}

static const struct {
    enum severity severity;
    const char *code;
    const char *about;
    bool (*is_so)(const struct view *v, struct finding *f);
} of_all[] = {
    {SEVERITY_ERROR, "jetstream", "JetStream", jetstream},
    {SEVERITY_ERROR, "no_ingress", "ax-ingress", no_ingress},
    {SEVERITY_ERROR, "no_dispatch", "ax-dispatch", no_dispatch},
};

/* ---- of one daemon */

static bool daemon_silent(const struct view_daemon *d, struct finding *f)
{
    finding_seen(f, "announced itself and does not answer: it has just died, hangs, or is cut off");
    finding_fix(f, "look at its process, its log and its connection");
    return !d->answered;
}

static bool daemon_not_ready(const struct view_daemon *d, struct finding *f)
{
    finding_seen(f, "is not ready");
    finding_fix(f, "its /readyz and its log say what it waits for");
    return d->answered && !d->ready;
}

static bool answered_unknown(const struct view_daemon *d, struct finding *f)
{
    finding_seen(f,
                 "%" PRId64 " submissions were answered \"unknown\" in the last five minutes: "
                 "JetStream was silent for 30 s",
                 d->unknown);
    finding_fix(f, "look at nats-server: disk, leaders, network");
    return d->answered && d->unknown > 0;
}

static bool records_unreadable(const struct view_daemon *d, struct finding *f)
{
    finding_seen(f,
                 "%" PRId64 " times in the last five minutes a message of KV_AX_DONE could not be "
                 "read as a record: its task counts as not done",
                 d->unreadable);
    finding_fix(f, "its log names the subject; only ax-dispatch should be able to write there, see "
                   "the permissions in docs/operating.md");
    return d->answered && d->unreadable > 0;
}

static bool server_clock_set_back(const struct view_daemon *d, struct finding *f)
{
    char by[32];
    if (!d->answered || d->clock_behind_ms == INT64_MIN ||
        saturate_mul(d->clock_behind_ms, 1000000) <= CLOCK_BEHIND_LIMIT_NS)
        return false;
    finding_seen(f,
                 "the server's clock was set back by %s: delayed submissions are refused until it "
                 "has caught up",
                 output_seconds(saturate_mul(d->clock_behind_ms, 1000000), by));
    finding_fix(f, "keep the servers' clocks in step (chrony, ntpd)");
    return true;
}

static bool host_clock(const struct view_daemon *d, struct finding *f)
{
    char by[32];
    int64_t ahead_ms = d->host_ahead_ms == INT64_MIN ? 0 : d->host_ahead_ms;
    int64_t off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
    if (!d->answered || off_ms <= HOST_CLOCK_MS)
        return false;
    finding_seen(f, "its host's clock is %s %s of the server's",
                 output_seconds(saturate_mul(off_ms, 1000000), by),
                 ahead_ms > 0 ? "ahead" : "behind");
    finding_fix(f,
                "no task suffers; logs and times that workers write differ: keep clocks in step");
    return true;
}

static const struct {
    enum severity severity;
    const char *code;
    bool (*is_so)(const struct view_daemon *d, struct finding *f);
} of_daemon[] = {
    {SEVERITY_ERROR, "daemon_silent", daemon_silent},
    {SEVERITY_WARNING, "daemon_not_ready", daemon_not_ready},
    {SEVERITY_WARNING, "answered_unknown", answered_unknown},
    {SEVERITY_WARNING, "records_unreadable", records_unreadable},
    {SEVERITY_WARNING, "server_clock_set_back", server_clock_set_back},
    {SEVERITY_NOTE, "host_clock", host_clock},
};

static void check_daemon(const struct view_daemon *d, struct findings *out)
{
    for (size_t i = 0; i < sizeof(of_daemon) / sizeof(of_daemon[0]); i++) {
        struct finding f = finding_begin(of_daemon[i].severity, of_daemon[i].code, d->program,
                                         d->name);
        if (of_daemon[i].is_so(d, &f))
            findings_take(out, &f);
    }
}

void check_daemons(const struct view *v, struct findings *out)
{
    for (size_t i = 0; i < sizeof(of_all) / sizeof(of_all[0]); i++) {
        struct finding f = finding_begin(of_all[i].severity, of_all[i].code, of_all[i].about, "");
        if (of_all[i].is_so(v, &f))
            findings_take(out, &f);
    }
    for (int i = 0; i < v->daemon_count; i++)
        check_daemon(&v->daemons[i], out);
}
