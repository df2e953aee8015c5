#include "ingress/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "bus/wire.h"
#include "ingress/ingress.h"
#include "ingress/key_index.h"
#include "ingress/later_flaw.h"
#include "ingress/later_rearm.h"
#include "ingress/queue/queue.h"
#include "task/header.h"
#include "task/task_dead.h"

#define SUSPECTS_MAX 1024
#define ASK_WAIT_MS 5000
#define SOON_MS 20 /* what was heard is stored by then */
#define RETRY_MS 1000
#define ROUND_STEP_MS 250
#define ROUND_PAUSE_MS 60000
#define ROOM_FOR_OTHERS 1024
/* A priority may be made after its first tasks were stored. */
#define NO_PRIORITY_NS 600000000000LL

/* Messages of AX_LATER from a sequence on whose subjects match. */
struct walk {
    struct walk *prev, *next;
    char filter[SUBJECT_MAX_CHARS];
    uint64_t next_seq;
};

struct sweep {
    struct ingress *ing;
    struct walk *suspects; /* heard or read, to be looked at where they are stored */
    int suspect_count;
    struct walk round;       /* all of AX_LATER, over and over */
    struct walk *now;        /* the walk whose question is under way; NULL: none */
    uint64_t seq;            /* the message that is being swept */
    enum later_flaw flaw;    /* and why */
    struct task_subject its; /* what its subject names */
    char subject[256];       /* as much of it as fits, for the log */
    struct loop_timer timer;
    struct log_gate gate;
};

static void step(void *arg);

static void go_on(struct sweep *s, int64_t ms)
{
    s->now = NULL;
    loop_timer_start(s->ing->loop, &s->timer, ms, step, s);
}

/* The message under way is looked at again. */
static void again(struct sweep *s)
{
    s->now->next_seq = s->seq;
    go_on(s, RETRY_MS);
}

/* ---- what is wrong */

static bool was_ever_here(const struct sweep *s, const char *priority)
{
    for (const struct queue *q = s->ing->queues; q != NULL; q = q->next) {
        if (strcmp(q->p.name, priority) == 0)
            return true;
    }
    return false;
}

static enum later_flaw judge(const struct sweep *s, const struct stored_msg *found,
                             struct task_subject *its)
{
    enum later_flaw flaw = later_flaw_of(found->subject, found->msg, its);
    if (flaw != LATER_FLAW_NONE || s->ing->queues == NULL || was_ever_here(s, its->priority))
        return flaw;
    return clock_ax_ns(s->ing->clock) - found->time_ns > NO_PRIORITY_NS ? LATER_FLAW_PRIORITY
                                                                        : LATER_FLAW_NONE;
}

/* ---- deleted, once its dead letter is stored */

static void swept(struct sweep *s)
{
    char text[400];
    metric_add(s->ing->counters.later.swept, 1);
    log_limited(&s->gate, loop_now_ns(s->ing->loop), LOG_WARN,
                "message that no queue would get, made a dead letter",
                "stream=%s seq=%" PRIu64 " subject=%s why=\"%s\"", STREAM_LATER, s->seq,
                log_quote(s->subject, text, sizeof(text)), later_flaw_text(s->flaw));
    go_on(s, 0);
}

static void on_deleted(void *arg, const struct answer *a)
{
    struct sweep *s = arg;
    FAULT_IF(a->err == AX_OK, "later.delete.after");
    if (a->err == AX_OK)
        swept(s);
    else
        again(s);
}

static void remove_it(struct sweep *s)
{
    char payload[64];
    int n = snprintf(payload, sizeof(payload), "{\"seq\":%" PRIu64 ",\"no_erase\":true}", s->seq);
    FAULT("later.delete.before");
    if (pipeline_request(s->ing->pipe, "$JS.API.STREAM.MSG.DELETE." STREAM_LATER, payload,
                         (size_t)n, ASK_WAIT_MS, on_deleted, s) != AX_OK)
        again(s);
}

/* ---- what it lies upon gets its time again */

/* The server removes what was on the subject as it stores a schedule: the message that is swept and
 * the schedule without a timer go in the moment in which the new one is there. */
static void on_rearmed(void *arg, const struct answer *a)
{
    struct sweep *s = arg;
    FAULT_IF(a->err == AX_OK, "later.rearm.after");
    if (a->err == AX_OK)
        swept(s);
    else
        remove_it(s); /* it is not the last one on its subject any more */
}

static void on_beneath(void *arg, ax_err err, const struct stored_msg *found)
{
    struct sweep *s = arg;
    struct task_subject its;
    char reply[PIPELINE_REPLY_MAX];
    natsMsg *msg = NULL;
    if (err != AX_OK && err != AX_E_NOT_FOUND) {
        again(s);
        return;
    }
    if (err == AX_E_NOT_FOUND || found->seq >= s->seq ||
        later_flaw_of(found->subject, found->msg, &its) != LATER_FLAW_NONE) {
        remove_it(s);
        return;
    }
    if (pipeline_reserve(s->ing->pipe, reply) != AX_OK) {
        again(s);
        return;
    }
    FAULT("later.rearm.before");
    err = later_rearm_msg(found, reply, s->seq, &msg);
    if (err != AX_OK)
        pipeline_cancel(s->ing->pipe, reply);
    else
        err = pipeline_publish(s->ing->pipe, reply, msg, 0, on_rearmed, s);
    if (err != AX_OK)
        again(s);
}

static void look_beneath(struct sweep *s)
{
    char subject[SUBJECT_MAX_CHARS];
    if (s->flaw != LATER_FLAW_SCHEDULE) {
        remove_it(s);
        return;
    }
    name_subject(subject, "later", s->its.priority, s->its.pool, s->its.id);
    if (pipeline_get(s->ing->pipe, STREAM_LATER, subject, 1, ASK_WAIT_MS, on_beneath, s) != AX_OK)
        again(s);
}

/* ---- buried */

static void on_buried(void *arg, const struct answer *a)
{
    struct sweep *s = arg;
    FAULT_IF(a->err == AX_OK, "later.bury.after");
    if (a->err == AX_OK)
        look_beneath(s);
    else
        again(s);
}

/* Under an id of its own: under the task's, its key would be known as dead. */
static ax_err dead_letter(const struct sweep *s, const struct stored_msg *found, const char *reply,
                          natsMsg **out)
{
    struct task task = TASK_NONE;
    char reason[160], id[96];
    memcpy(task.pool, s->its.pool, sizeof(task.pool));
    memcpy(task.priority, s->its.priority, sizeof(task.priority));
    snprintf(reason, sizeof(reason), "swept: %s", later_flaw_text(s->flaw));
    ax_err err = task_dead_to_msg(&task, found->msg, reply, reason, clock_ax_ns(s->ing->clock),
                                  wire_max_payload(s->ing->wire), out);
    if (err != AX_OK)
        return err;
    snprintf(id, sizeof(id), STREAM_LATER ".%" PRIu64 ".%" PRId64 ".swept", found->seq,
             found->time_ns);
    if (header_set(*out, HDR_MSG_ID, id) == NATS_OK)
        return AX_OK;
    natsMsg_Destroy(*out);
    return AX_E_NOMEM;
}

static void bury(struct sweep *s, const struct stored_msg *found)
{
    char reply[PIPELINE_REPLY_MAX];
    natsMsg *msg = NULL;
    if (pipeline_reserve(s->ing->pipe, reply) != AX_OK) {
        again(s);
        return;
    }
    ax_err err = dead_letter(s, found, reply, &msg);
    FAULT("later.bury.before");
    if (err == AX_OK) {
        err = pipeline_publish(s->ing->pipe, reply, msg, 0, on_buried, s);
    } else {
        pipeline_cancel(s->ing->pipe, reply);
    }
    if (err != AX_OK)
        again(s);
}

/* ---- walking */

static void forget(struct sweep *s, struct walk *w)
{
    DL_DELETE(s->suspects, w);
    s->suspect_count--;
    free(w);
}

static void on_walk_end(struct sweep *s)
{
    struct walk *w = s->now;
    if (w != &s->round) {
        forget(s, w);
        go_on(s, 0);
        return;
    }
    w->next_seq = 1;
    go_on(s, ROUND_PAUSE_MS);
}

static void on_found(void *arg, ax_err err, const struct stored_msg *found)
{
    struct sweep *s = arg;
    if (err == AX_E_NOT_FOUND) {
        on_walk_end(s);
    } else if (err != AX_OK) {
        go_on(s, RETRY_MS);
    } else {
        s->seq = found->seq;
        s->now->next_seq = found->seq + 1;
        s->flaw = judge(s, found, &s->its);
        snprintf(s->subject, sizeof(s->subject), "%s", found->subject);
        if (s->flaw != LATER_FLAW_NONE)
            bury(s, found);
        else
            go_on(s, s->now == &s->round ? ROUND_STEP_MS : 0);
    }
}

static void step(void *arg)
{
    struct sweep *s = arg;
    struct walk *w = s->suspects != NULL ? s->suspects : &s->round;
    if (s->ing->closing)
        return;
    if (!s->ing->connected || !clock_is_set(s->ing->clock) ||
        pipeline_room(s->ing->pipe) <= ROOM_FOR_OTHERS ||
        pipeline_get(s->ing->pipe, STREAM_LATER, w->filter, w->next_seq, ASK_WAIT_MS, on_found,
                     s) != AX_OK) {
        go_on(s, RETRY_MS);
        return;
    }
    s->now = w;
}

/* A token that JSON would not take as it stands becomes a wildcard. */
static bool copy_filter(char out[SUBJECT_MAX_CHARS], const char *subject)
{
    size_t n = 0, start = 0;
    bool plain = true;
    for (const char *c = subject;; c++) {
        if (*c == '.' || *c == '\0') {
            if (!plain) {
                n = start;
                out[n++] = '*';
            }
            out[n++] = *c;
            start = n;
            plain = true;
            if (*c == '\0')
                return true;
        } else {
            plain = plain && *c > ' ' && *c < 0x7f && *c != '"' && *c != '\\';
            out[n++] = *c;
        }
        if (n + 2 >= SUBJECT_MAX_CHARS)
            return false;
    }
}

void sweep_saw(struct sweep *s, const char *subject, natsMsg *msg)
{
    struct task_subject its;
    if (later_flaw_of(subject, msg, &its) == LATER_FLAW_NONE || s->suspect_count >= SUSPECTS_MAX)
        return;
    struct walk *w = calloc(1, sizeof(*w));
    if (w == NULL || !copy_filter(w->filter, subject)) {
        free(w); /* the round comes to it */
        return;
    }
    w->next_seq = 1;
    DL_APPEND(s->suspects, w);
    s->suspect_count++;
    if (s->now == NULL)
        loop_timer_start(s->ing->loop, &s->timer, SOON_MS, step, s);
}

ax_err sweep_start(struct sweep **out, struct ingress *ing)
{
    struct sweep *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return AX_E_NOMEM;
    s->ing = ing;
    s->round = (struct walk){.filter = ">", .next_seq = 1};
    *out = s;
    go_on(s, RETRY_MS);
    return AX_OK;
}
