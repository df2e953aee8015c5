#include "cli/work/worker_mail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/api.h"
#include "bus/consumer_info.h"
#include "task/names.h"

#define INFO_EVERY_MS 10000
#define INFO_MISSING_MS 500
#define PROGRESS_MIN_MS 10

void worker_mail_ask_info(struct worker *w)
{
    char subject[128], reply[96];
    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.INFO.%s.%s", STREAM_WORK, w->pool);
    snprintf(reply, sizeof(reply), "%s.info", w->subs.control_inbox);
    natsConnection_PublishRequest(w->nc, subject, reply, "", 0);
    w->watch.due_ms = clock_now_ms() + (w->pulls.suspended ? INFO_MISSING_MS : INFO_EVERY_MS);
}

/* A task starts when a slot is free, waits in the backlog when the server sent more than there are
 * slots, and is given back when this worker is stopping. m is taken. */
static void on_task(struct worker *w, struct mail *m)
{
    pulls_got(&w->pulls);
    if (!w->stopping && w->running >= w->concurrency) {
        DL_APPEND(w->backlog, m);
        return;
    }
    if (w->stopping) {
        worker_give_back(w, m->msg);
    } else {
        worker_start(w, m->msg);
        m->msg = NULL;
    }
    mailbox_free_mail(m);
}

/* m is taken. */
static void on_pull(struct worker *w, struct mail *m)
{
    const char *subject = natsMsg_GetSubject(m->msg), *inbox = w->subs.pulls_inbox;
    size_t n = strlen(inbox);
    bool is_status = strncmp(subject, inbox, n) == 0 && subject[n] == '.';
    if (!is_status && natsMsg_GetReply(m->msg) != NULL) {
        on_task(w, m);
        return;
    }
    if (is_status && pulls_status(&w->pulls, strtoull(subject + n + 1, NULL, 10), m->msg))
        w->watch.due_ms = clock_now_ms() + INFO_MISSING_MS;
    mailbox_free_mail(m);
}

/* The consumer is not the one that it was: it was deleted, or all of AX_WORK. What came from the
 * old one is handed to workers anew, and the sequences of a new AX_WORK may start anew, so an ack
 * for a task of the old one could be taken for another task's: none is sent any more. */
static void forget_all(struct worker *w)
{
    log_warn(
        "the pool's consumer was recreated: what came from the old one is stopped, without ack",
        "pool=%s running=%d", w->pool, w->running);
    acks_free(&w->acks);
    worker_clear_backlog(w, false);
    struct job *j;
    DL_FOREACH(w->jobs, j)
        worker_revoke(j);
    pulls_reset(&w->pulls);
}

static void check_created(struct worker *w, int64_t created_ns)
{
    if (created_ns == 0)
        return;
    if (w->watch.created_ns != 0 && w->watch.created_ns != created_ns)
        forget_all(w);
    w->watch.created_ns = created_ns;
}

static void on_consumer(struct worker *w, int64_t ack_wait_ms)
{
    w->progress_ms = ack_wait_ms / 3 > PROGRESS_MIN_MS ? ack_wait_ms / 3 : PROGRESS_MIN_MS;
    if (w->watch.consumer_gone)
        log_info("consumer is there again", "pool=%s", w->pool);
    w->watch.consumer_gone = false;
    w->pulls.suspended = false;
    int64_t latest_ms = clock_now_ms() + w->progress_ms;
    struct job *j;
    DL_FOREACH(w->jobs, j)
        j->progress_ms = j->progress_ms > latest_ms ? latest_ms : j->progress_ms;
}

static void on_consumer_gone(struct worker *w)
{
    if (!w->watch.consumer_gone)
        log_warn("the pool's consumer is gone; waiting for it", "pool=%s", w->pool);
    w->watch.consumer_gone = true;
    w->pulls.suspended = true;
    pulls_reset(&w->pulls);
    w->watch.due_ms = clock_now_ms() + INFO_MISSING_MS;
}

/* What an operator allows a pull request: more of it is refused. */
static void note_limits(struct pulls *p, const json_t *config)
{
    p->batch_max = json_integer_value(json_object_get(config, "max_batch"));
    p->expires_max_ms = json_integer_value(json_object_get(config, "max_expires")) / 1000000;
}

static void on_info(struct worker *w, natsMsg *msg)
{
    struct api_answer a;
    struct consumer_info info;
    json_t *root;
    api_read(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &a, &root);
    if (a.err == AX_OK && consumer_info_read(root, &info) == AX_OK) {
        check_created(w, api_time_ns(root, "created"));
        on_consumer(w, info.ack_wait_ns / 1000000);
        note_limits(&w->pulls, json_object_get(root, "config"));
    } else if (a.err_code == JSERR_CONSUMER_NOT_FOUND || a.err_code == JSERR_STREAM_NOT_FOUND) {
        on_consumer_gone(w);
    }
    json_decref(root);
}

static void on_control(struct worker *w, natsMsg *msg)
{
    const char *tail = natsMsg_GetSubject(msg) + strlen(w->subs.control_inbox) + 1;
    if (strcmp(tail, "info") == 0)
        on_info(w, msg);
    else if (strncmp(tail, "ack.", 4) == 0 && !natsMsg_IsNoResponders(msg))
        acks_confirmed(&w->acks, strtoull(tail + 4, NULL, 10));
}

static void on_revoke(struct worker *w, natsMsg *msg)
{
    char text[32];
    const char *id = strrchr(natsMsg_GetSubject(msg), '.') + 1;
    snprintf(text, sizeof(text), "%.*s", natsMsg_GetDataLength(msg), natsMsg_GetData(msg));
    uint64_t newer = strtoull(text, NULL, 10);
    struct job *j;
    DL_FOREACH(w->jobs, j) {
        if (strcmp(j->id, id) != 0 || j->fence >= newer || j->revoked)
            continue;
        log_warn("attempt superseded, its command is stopped",
                 "task=%s fence=%" PRIu64 " newer=%" PRIu64, j->id, j->fence, newer);
        worker_revoke(j);
    }
}

static void on_reconnected(struct worker *w)
{
    pulls_reset(&w->pulls);
    acks_repeat(&w->acks, true);
    w->watch.due_ms = 0;
}

/* m is taken. */
static void handle(struct worker *w, struct mail *m)
{
    switch (m->kind) {
    case MAIL_PULL:
        on_pull(w, m);
        return;
    case MAIL_CONTROL:
        on_control(w, m->msg);
        break;
    case MAIL_REVOKE:
        on_revoke(w, m->msg);
        break;
    case MAIL_RECONNECTED:
        on_reconnected(w);
        break;
    }
    mailbox_free_mail(m);
}

void worker_mail_take(struct worker *w)
{
    struct mail *all = mailbox_take(&w->box), *m, *next;
    DL_FOREACH_SAFE(all, m, next)
        handle(w, m);
}
