/* ax-ingress: takes submissions (level 1 of AX). */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/io/outlet.h"
#include "base/leave.h"
#include "base/log.h"
#include "base/options.h"
#include "bus/loop.h"
#include "bus/wire.h"
#include "ingress/arrivals.h"
#include "ingress/ingress.h"
#include "stats/http.h"

#define DRAIN_LIMIT_MS 10000
#define EXIT_FAILED 1
#define EXIT_USAGE 2

static ax_err start(struct ingress *ing, const struct wire_events *events, struct problem *p)
{
    ax_err err = wire_open(&ing->wire, ing->options, ing->loop, "ax-ingress", events, p);
    if (err == AX_OK)
        err = arrivals_connect(&ing->arrivals, ing, p);
    return err == AX_OK ? ingress_start(ing, p) : err;
}

static ax_err serve_http(struct http **http, struct ingress *ing, struct problem *p)
{
    const struct options *o = ing->options;
    if (o->http_port == 0)
        return AX_OK;
    ax_err err = http_start(http, o->http_bind, (int)o->http_port, ingress_is_ready, ing, p);
    if (err == AX_OK)
        log_info("http", "bind=%s port=%d", o->http_bind, http_port(*http));
    return err;
}

int main(int argc, char **argv)
{
    static struct clock clock;
    static struct options options;
    static struct ingress ing;
    struct problem p = {0};
    struct http *http = NULL;
    int first = 0;
    log_reserve_streams();
    loop_block_signals();
    ax_err err = options_parse(&options, FOR_INGRESS, argc, argv, false, &first, &p);
    if (err == AX_E_CLOSED)
        return 0;
    if (err == AX_OK && first < argc) {
        err = problem_set(&p, AX_E_INVALID, "%s: ax-ingress takes options only; see --help",
                          argv[first]);
    }
    if (err != AX_OK) {
        error_print("ax-ingress", p.text);
        return EXIT_USAGE;
    }
    log_init("ax-ingress", (enum log_level)log_level_parse(options.log_level));
    outlet_start(); /* in vain: log lines wait for their reader */
    clock_init(&clock);
    ing.clock = &clock;
    ing.options = &options;
    const struct wire_events events = {ingress_disconnected, ingress_reconnected, &ing};
    err = loop_new(&ing.loop, &clock);
    if (err == AX_OK)
        err = start(&ing, &events, &p);
    if (err == AX_OK)
        err = serve_http(&http, &ing, &p);
    if (err != AX_OK) {
        error_print("ax-ingress", p.text[0] != '\0' ? p.text : ax_err_text(err));
        leave(EXIT_FAILED);
    }
    int signal = loop_run(ing.loop);
    log_info("stopping", "signal=%d", signal);
    loop_enter(ing.loop);
    ingress_drain(&ing, DRAIN_LIMIT_MS);
    loop_leave(ing.loop);
    loop_run(ing.loop);
    http_stop(http);
    leave(0);
}
