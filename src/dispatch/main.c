/* ax-dispatch: hands tasks to workers and follows each one to its ack. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/outlet.h"
#include "base/leave.h"
#include "base/log.h"
#include "base/options.h"
#include "dispatch/dispatch.h"
#include "stats/http.h"

#define DRAIN_MS 5000
#define DRAIN_CHECK_MS 20

static bool is_ready(void *arg, char *why, unsigned long cap)
{
    struct dispatch *d = arg;
    if (loop_stands_still(d->loop, why, cap))
        return false;
    if (atomic_load(&d->is_ready))
        return true;
    snprintf(why, cap, "streams, consumers, the filter or the lease of a pool are not ready");
    return false;
}

struct drain {
    struct dispatch *d;
    struct loop_timer timer;
    int64_t until_ns;
};

static void on_drain(void *arg)
{
    struct drain *w = arg;
    if ((assignment_has_left(w->d) && pipeline_inflight(w->d->pipeline) == 0) ||
        loop_now_ns(w->d->loop) >= w->until_ns)
        loop_stop(w->d->loop);
    else
        loop_timer_start(w->d->loop, &w->timer, DRAIN_CHECK_MS, on_drain, w);
}

/* No new hand-offs; what is being written gets its answer, so that a stop leaves nothing to be
 * looked at; then others may lead. */
static void drain(struct dispatch *d)
{
    struct drain w = {.d = d, .until_ns = loop_now_ns(d->loop) + DRAIN_MS * 1000000LL};
    loop_enter(d->loop);
    provisioner_stop(d->provisioner);
    assignment_leave(d);
    loop_timer_start(d->loop, &w.timer, DRAIN_CHECK_MS, on_drain, &w);
    loop_leave(d->loop);
    loop_run(d->loop);
    loop_enter(d->loop);
    loop_timer_stop(d->loop, &w.timer);
    loop_leave(d->loop);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct problem p = {0};
    struct http *http = NULL;
    int first = 0;
    log_reserve_streams();
    log_init("ax-dispatch", LOG_INFO);
    ax_err err = options_parse(&o, FOR_DISPATCH, argc, argv, false, &first, &p);
    if (err == AX_E_CLOSED)
        return 0;
    if (err != AX_OK || first < argc) {
        error_print("ax-dispatch", err != AX_OK ? p.text : "takes no arguments; see --help");
        return 2;
    }
    log_init("ax-dispatch", (enum log_level)log_level_parse(o.log_level));
    loop_block_signals();
    outlet_start(); /* in vain: log lines wait for their reader */
    static struct dispatch dispatch;
    struct dispatch *d = &dispatch;
    err = dispatch_start(d, &o, &p);
    if (err == AX_OK && o.http_port != 0)
        err = http_start(&http, o.http_bind, (int)o.http_port, is_ready, d, &p);
    if (err != AX_OK) {
        error_print("ax-dispatch", p.text);
        leave(1);
    }
    if (http != NULL)
        log_info("listening", "http=%s:%d", o.http_bind, http_port(http));
    int sig = loop_run(d->loop);
    log_info("stopping", "signal=%s", strsignal(sig));
    drain(d);
    http_stop(http);
    dispatch_stop(d);
    leave(0);
}
