#include "dispatch/listen.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "bus/ack.h"
#include "bus/advisory.h"
#include "bus/pull.h"
#include "dispatch/attempt/cancel.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/occupancy.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/pool/stats_reply.h"
#include "task/peer/congestion.h"
#include "task/peer/unrecorded.h"

#define HASTY_NS 10000000LL

#define PAUSE_ADVISORY "$JS.EVENT.ADVISORY.CONSUMER.PAUSE." STREAM_WORK "."

/* nats-server sends heartbeats as often as somebody asks for, through the queue that all deliveries
 * of AX_WORK share. A client of NATS asks for one in 500 ms at most. */
static void note_hasty(struct pool *p, const struct pull_request *r)
{
    static struct log_gate gate;
    if (r->heartbeat_ns == 0 || r->heartbeat_ns >= HASTY_NS)
        return;
    metric_add(p->count.pulls_hasty, 1);
    log_limited(&gate, loop_now_ns(p->dispatch->loop), LOG_WARN,
                "a worker asks for heartbeats so often that it slows down all pools",
                "pool=%s idle_heartbeat_ns=%lld", p->name, (long long)r->heartbeat_ns);
}

static void on_pull(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    struct pull_request r;
    char name[NAME_MAX_CHARS + 1];
    /* The server serves nobody who does not say where to. */
    if (replies_are_wanted(msg) && pull_parse_subject(natsMsg_GetSubject(msg), name) &&
        pull_parse(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &r)) {
        struct pool *p = dispatch_pool(d, name);
        if (p != NULL) {
            note_hasty(p, &r);
            pool_on_pull(p, &r);
        }
    }
    natsMsg_Destroy(msg);
}

static void on_ack(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    struct ack_subject s;
    struct ack_payload a;
    struct pull_request r;
    if (ack_parse_subject(natsMsg_GetSubject(msg), &s) && strcmp(s.stream, STREAM_WORK) == 0) {
        ack_parse_payload(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &a);
        d->acks_heard_on = wire_connections(d->wire);
        struct pool *p = dispatch_pool(d, s.consumer);
        if (p != NULL) {
            acks_on_ack(p, &s, &a);
            if (a.kind == ACK_NEXT && replies_are_wanted(msg) &&
                pull_parse(a.next, a.next_bytes, &r))
                pool_on_pull(p, &r);
        }
    }
    natsMsg_Destroy(msg);
}

static void on_max_deliveries(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    struct advisory a;
    if (advisory_read(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &a) &&
        a.stream_seq != 0) {
        struct pool *p = dispatch_pool(d, a.consumer);
        if (p != NULL)
            acks_on_max_deliveries(p, a.stream_seq);
    }
    natsMsg_Destroy(msg);
}

/* An operator paused or resumed a consumer of AX_WORK: its info tells which. */
static void on_pause(void *arg, natsMsg *msg)
{
    struct pool *p = dispatch_pool(arg, natsMsg_GetSubject(msg) + strlen(PAUSE_ADVISORY));
    if (p != NULL && p->lead.ready)
        work_consumer_read(p);
    natsMsg_Destroy(msg);
}

static void on_settings(void *arg, natsMsg *msg)
{
    pool_table_observe(arg, msg);
    natsMsg_Destroy(msg);
}

static void on_lease(void *arg, natsMsg *msg)
{
    assignment_observe(arg, natsMsg_GetSubject(msg), msg);
    natsMsg_Destroy(msg);
}

/* A queue is full: whoever leads a pool with groups in it says what they hold. */
static void on_refused(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    if (congestion_parse_subject(natsMsg_GetSubject(msg), CONGESTION_REFUSED_PREFIX, priority,
                                 pool)) {
        for (struct pool *p = d->table.pools; p != NULL; p = p->next)
            occupancy_on_refused(p, priority);
    }
    natsMsg_Destroy(msg);
}

/* ax.acked.<pool>: of a pool that changes hands. What we say ourselves comes back, and is known. */
static void on_acked(void *arg, natsMsg *msg)
{
    struct pool *p = dispatch_pool(arg, natsMsg_GetSubject(msg) + strlen(UNRECORDED_PREFIX));
    if (p != NULL)
        acks_on_unrecorded(p, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg));
    natsMsg_Destroy(msg);
}

/* ax.worker.<pool>.<worker>: only who leads the pool has a use for it. */
static void on_report(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    char name[NAME_MAX_CHARS + 1], worker[WORKER_NAME_MAX_CHARS + 1];
    const char *schema = NULL;
    if (report_parse_subject(natsMsg_GetSubject(msg), name, worker)) {
        struct pool *p = dispatch_pool(d, name);
        if (p != NULL && p->lead.led) {
            natsMsgHeader_Get(msg, HDR_SCHEMA, &schema);
            adapt_report(&p->adapt, worker, schema, natsMsg_GetData(msg),
                         (size_t)natsMsg_GetDataLength(msg), loop_now_ns(d->loop));
        }
    }
    natsMsg_Destroy(msg);
}

/* ax.cancel.<pool>.<id>. A pool that is not ours is another dispatcher's to answer for. */
static void on_cancel(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    char name[NAME_MAX_CHARS + 1];
    const char *rest = natsMsg_GetSubject(msg) + strlen(CANCEL_PREFIX);
    const char *dot = strchr(rest, '.');
    if (dot != NULL && name_is_valid_n(rest, (size_t)(dot - rest)) && name_is_task_id(dot + 1)) {
        snprintf(name, sizeof(name), "%.*s", (int)(dot - rest), rest);
        struct pool *p = dispatch_pool(d, name);
        if (p != NULL && p->lead.ready && catch_up_suffices(p))
            cancel_start(p, dot + 1, replies_of(&d->replies, msg));
    }
    natsMsg_Destroy(msg);
}

ax_err listen_start(struct dispatch *d)
{
    const struct {
        const char *subject;
        wire_handler handler;
    } list[] = {
        {"$JS.API.CONSUMER.MSG.NEXT." STREAM_WORK ".*", on_pull},
        {"$JS.ACK." STREAM_WORK ".>", on_ack},
        {"$JS.ACK.*.*." STREAM_WORK ".>", on_ack},
        {"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." STREAM_WORK ".>", on_max_deliveries},
        {PAUSE_ADVISORY "*", on_pause},
        {POOLS_PREFIX ">", on_settings},
        {LEASES_PREFIX ">", on_lease},
        {CANCEL_PREFIX "*.*", on_cancel},
        {CONGESTION_REFUSED_PREFIX "*.*", on_refused},
        {WORKER_PREFIX "*.*", on_report},
        {UNRECORDED_PREFIX "*", on_acked},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        ax_err err = wire_subscribe(d->wire, NULL, list[i].subject, NULL, list[i].handler, d);
        if (err != AX_OK)
            return err;
    }
    return stats_reply_listen(d);
}
