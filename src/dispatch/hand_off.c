/* From the staged list into AX_WORK: idempotency check, publish, and the answers to a repeated hand-off (rule 6). */
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/record.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool.h"
#include "dispatch/run.h"

#define GET_WAIT_MS 5000
#define AGAIN_MS 200

static void pump_soon(void *arg)
{
    pool_pump(arg);
}

/* It does not start: what it held goes back. */
static void give_back(struct run *r)
{
    struct pool *p = r->pool;
    if (r->token)
        bucket_return(&p->bucket);
    r->token = false;
    demand_give_back(&p->demand, r->pull);
    r->pull = NULL;
    if (r->counted)
        p->inflight--;
    r->counted = false;
}

/* Not now: back to the front of its queue, tried again a little later. */
static void put_back(struct run *r)
{
    struct pool *p = r->pool;
    give_back(r);
    queue_stage(r, true);
    loop_timer_start(p->dispatch->loop, &p->pump_timer, AGAIN_MS, pump_soon, p);
}

static void publish(struct run *r);

static void on_record(void *arg, ax_err err, const struct stored_msg *found)
{
    struct run *r = arg;
    struct pool *p = r->pool;
    struct record rec;
    if (err == AX_OK)
        err = record_unpack(&rec, natsMsg_GetData(found->msg), (size_t) natsMsg_GetDataLength(found->msg));
    if (err == AX_OK && rec.state == RECORD_DONE) {
        give_back(r);
        run_drop(r);
        pool_pump(p);
    } else if (err == AX_OK) {
        publish(r); /* cancelled before: the key was free again */
    } else if (err == AX_E_NOT_FOUND) {
        filter_was_false(p->dispatch->filter);
        publish(r);
    } else if (err == AX_E_PROTOCOL && found != NULL) {
        log_warn("unreadable idempotency record, task runs", "task=%s pool=%s", r->task.id, p->name);
        publish(r);
    } else {
        put_back(r);
    }
}

static void on_puback(void *arg, const struct answer *a)
{
    struct run *r = arg;
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    if (a->err != AX_OK) {
        log_error("hand-off refused", "task=%s pool=%s err_code=%d", r->task.id, p->name, a->err_code);
        put_back(r);
        return;
    }
    r->token = false;
    r->epoch_ns = d->work_epoch_ns;
    r->active_ns = loop_now_ns(d->loop);
    run_set_work(r, a->seq);
    run_drop_content(r);
    if (a->duplicate) {
        /* Rule 6: it was handed off before. Adopt it if it is still there, else rule 7. */
        run_renew(r);
        run_limit(r, 0);
        run_look(r);
        return;
    }
    metric_add(p->m_handed, 1);
    r->state = RUN_RUNNING;
    run_limit(r, 0);
    if (r->task.attempt > 1) {
        char subject[SUBJECT_MAX_CHARS], token[24];
        snprintf(subject, sizeof subject, "ax.revoke.%s.%s", p->name, r->task.id);
        int n = snprintf(token, sizeof token, "%llu", (unsigned long long) r->work_seq);
        natsConnection_Publish(d->nc, subject, token, n);
    }
    pool_check_early(p, r);
}

static void publish(struct run *r)
{
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    char subject[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX], id[256];
    natsMsg *msg = NULL;
    if (pipeline_reserve(d->pipeline, reply) != AX_OK) {
        put_back(r);
        return;
    }
    name_subject_work(subject, p->name, r->task.id);
    run_identity(r, "", id);
    if (r->task.max_retry < 0)
        r->task.max_retry = p->settings.max_retry;
    ax_err err = task_to_msg(&r->task, subject, reply, &msg);
    if (err == AX_OK && (natsMsgHeader_Set(msg, HDR_MSG_ID, id) != NATS_OK || natsMsgHeader_Set(msg, HDR_LEASE, r->lease) != NATS_OK)) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    r->state = RUN_HANDING;
    /* a NULL message gives the reserved slot back */
    err = pipeline_publish(d->pipeline, reply, msg, 0, on_puback, r);
    if (err == AX_E_TOO_LONG) {
        give_back(r);
        run_bury(r, "too large for the server's max_payload with the headers of a hand-off");
    } else if (err != AX_OK) {
        put_back(r);
    }
}

void run_hand_off(struct run *r)
{
    struct dispatch *d = r->pool->dispatch;
    char subject[SUBJECT_MAX_CHARS];
    if (r->task.expires_ns != 0 && clock_is_set(&d->clock) && clock_ax_ns(&d->clock) >= r->task.expires_ns) {
        give_back(r);
        run_bury(r, "expired");
        return;
    }
    if (d->filter_ready && !filter_check(d->filter, r->task.id, strlen(r->task.id))) {
        publish(r);
        return;
    }
    r->state = RUN_CHECKING;
    record_subject(subject, r->task.id);
    if (pipeline_get(d->pipeline, STREAM_DONE, subject, 0, GET_WAIT_MS, on_record, r) != AX_OK)
        put_back(r);
}
