#include "bus/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "bus/puback.h"
#include "task/inbox.h"

#define TICK_MS 100
#define ANSWER_WAIT_NS 3000000000LL  /* a publish without an answer: sent again after this */
#define BACKOFF_FIRST_NS 100000000LL /* after "no responders" and the like */
#define BACKOFF_MAX_NS 2000000000LL

enum kind { FREE, RESERVED, PUBLISH, REQUEST, REQUEST_MANY };

struct slot {
    enum kind kind;
    /* Part of the reply subject, so that a late answer to an earlier use is told apart: in a
     * cluster several nodes may answer one question, while its stream has no leader or changes
     * it. */
    uint32_t generation;
    int tries;
    struct slot *prev, *next; /* what is in flight, oldest first; free slots use next only */
    natsMsg *msg;             /* PUBLISH: kept until there is an answer */
    int64_t due_ns;           /* when to act next: publish again, or time out */
    int64_t give_up_ns;       /* PUBLISH: 0 never */
    int64_t backoff_ns;
    int64_t idle_ns; /* REQUEST_MANY */
    union {
        pipeline_cb one;
        pipeline_many_cb many;
    } cb;
    void *arg;
};

struct pipeline {
    struct wire *wire;
    struct loop *loop;
    char prefix[INBOX_MAX + 1]; /* with the dot */
    size_t prefix_chars;
    struct slot *slots;
    int count, inflight;
    struct slot *busy, *free;
    struct loop_timer tick;
    bool has_no_responders;   /* said of some publish since the last tick */
    int64_t no_responders_ns; /* when to publish again because of that; 0: not waiting */
    int64_t no_responders_backoff_ns;
};

_Static_assert(PIPELINE_REPLY_MAX >= INBOX_MAX + 8 + 1 + 8 + 1, "slot and generation in hex");

static void on_tick(void *arg);

/* ---- slots ---- */

static void release(struct pipeline *p, struct slot *s)
{
    DL_DELETE(p->busy, s);
    natsMsg_Destroy(s->msg);
    s->msg = NULL;
    s->kind = FREE;
    s->generation++;
    LL_PREPEND(p->free, s);
    p->inflight--;
}

/* NULL: none is free. */
static struct slot *acquire(struct pipeline *p, enum kind kind)
{
    struct slot *s = p->free;
    if (s == NULL)
        return NULL;
    LL_DELETE(p->free, s);
    s->kind = kind;
    s->tries = kind == RESERVED ? 0 : 1;
    s->msg = NULL;
    s->due_ns = INT64_MAX;
    s->give_up_ns = 0;
    s->backoff_ns = BACKOFF_FIRST_NS;
    DL_APPEND(p->busy, s);
    p->inflight++;
    if (!loop_timer_is_running(&p->tick))
        loop_timer_start(p->loop, &p->tick, TICK_MS, on_tick, p);
    return s;
}

static void format_reply(const struct pipeline *p, const struct slot *s, char *buf)
{
    snprintf(buf, PIPELINE_REPLY_MAX, "%s%x-%" PRIx32, p->prefix, (unsigned)(s - p->slots),
             s->generation);
}

/* The slot a reply subject names; NULL: none, or its question has been answered already. */
static struct slot *slot_of(const struct pipeline *p, const char *subject)
{
    if (strncmp(subject, p->prefix, p->prefix_chars) != 0)
        return NULL;
    char *end;
    unsigned long i = strtoul(subject + p->prefix_chars, &end, 16);
    if (*end != '-' || i >= (unsigned long)p->count)
        return NULL;
    struct slot *s = &p->slots[i];
    unsigned long generation = strtoul(end + 1, &end, 16);
    bool is_its_own = *end == '\0' && s->kind != FREE && s->generation == (uint32_t)generation;
    return is_its_own ? s : NULL;
}

/* Frees the slot and calls back: it was the last answer. The slot may be used again meanwhile. */
static void end(struct pipeline *p, struct slot *s, const struct answer *a)
{
    struct slot was = *s;
    release(p, s);
    if (was.kind == REQUEST_MANY)
        was.cb.many(was.arg, a);
    else
        was.cb.one(was.arg, a);
}

/* ---- answers ---- */

/* Answers that say nothing about whether the message is stored, or that it may go in later. */
static bool is_unknown(const struct answer *a)
{
    if (a->err == AX_E_PROTOCOL)
        return true;
    if (a->err != AX_E_SERVER)
        return false;
    switch (a->err_code) {
    case JSERR_WRONG_LAST_SEQ_INFLIGHT:
    case JSERR_MSG_ID_IN_PROCESS:
    case JSERR_TOO_MANY_REQUESTS:
    case JSERR_JS_UNAVAILABLE:
        return true;
    default:
        return a->code == 503 && a->err_code != JSERR_STORE_FULL;
    }
}

static int64_t doubled(int64_t backoff_ns)
{
    return backoff_ns * 2 > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : backoff_ns * 2;
}

static void on_puback(struct pipeline *p, struct slot *s, struct answer *a)
{
    puback_read(natsMsg_GetData(a->reply), (size_t)natsMsg_GetDataLength(a->reply), a);
    if (is_unknown(a)) {
        s->due_ns = loop_now_ns(p->loop) + s->backoff_ns;
        s->backoff_ns = doubled(s->backoff_ns);
    } else {
        a->tries = s->tries;
        end(p, s, a);
    }
}

static void on_message(void *arg, natsMsg *msg)
{
    struct pipeline *p = arg;
    struct slot *s = slot_of(p, natsMsg_GetSubject(msg));
    struct answer a = {.err = AX_OK, .reply = msg, .tries = 1};
    if (s != NULL && s->kind == PUBLISH) {
        on_puback(p, s, &a);
    } else if (s != NULL && s->kind == REQUEST) {
        end(p, s, &a);
    } else if (s != NULL && s->kind == REQUEST_MANY) {
        s->due_ns = loop_now_ns(p->loop) + s->idle_ns;
        if (!s->cb.many(s->arg, &a))
            release(p, s);
    }
    natsMsg_Destroy(msg);
}

static void on_no_responders(void *arg)
{
    struct pipeline *p = arg;
    p->has_no_responders = true;
}

/* ---- time ---- */

static bool is_final(ax_err err)
{
    return err == AX_E_TOO_LONG || err == AX_E_INVALID || err == AX_E_NOMEM;
}

/* Publishes. Any error that is not final leaves the outcome unknown: it is sent again. */
static ax_err send(struct pipeline *p, struct slot *s, natsMsg *msg)
{
    bool away = wire_is_away(p->wire);
    ax_err err = away ? AX_E_DISCONNECTED : wire_publish_msg(p->wire, msg);
    s->tries += !away;
    s->due_ns = loop_now_ns(p->loop) + (err == AX_OK ? ANSWER_WAIT_NS : BACKOFF_FIRST_NS);
    return err;
}

static void all_due(struct pipeline *p, int64_t now)
{
    struct slot *s;
    DL_FOREACH(p->busy, s) {
        if (s->kind == PUBLISH)
            s->due_ns = now;
    }
}

/* A stream is without a leader and publishes went nowhere; which ones is not told. Everything in
 * flight is sent again after a pause, which grows while that goes on. */
static void repeat_without_responders(struct pipeline *p, int64_t now)
{
    if (p->has_no_responders && p->no_responders_ns == 0) {
        p->no_responders_ns = now + p->no_responders_backoff_ns;
        p->no_responders_backoff_ns = doubled(p->no_responders_backoff_ns);
    } else if (p->no_responders_ns != 0 && p->no_responders_ns <= now) {
        p->no_responders_ns = 0;
        p->has_no_responders = false;
        all_due(p, now);
    } else if (!p->has_no_responders) {
        p->no_responders_backoff_ns = BACKOFF_FIRST_NS;
    }
}

/* What is due: sent again, or at its end. */
static void act(struct pipeline *p, struct slot *s, int64_t now)
{
    bool repeats = s->kind == PUBLISH && (s->give_up_ns == 0 || s->give_up_ns > now);
    ax_err err = repeats ? send(p, s, s->msg) : AX_E_TIMEOUT;
    if (s->kind == RESERVED || (repeats && (!is_final(err) || err == AX_E_NOMEM)))
        return;
    const struct answer a = {.err = err, .tries = s->tries};
    end(p, s, &a);
}

static void on_tick(void *arg)
{
    struct pipeline *p = arg;
    int64_t now = loop_now_ns(p->loop);
    repeat_without_responders(p, now);
    for (struct slot *s = p->busy; s != NULL;) {
        uint32_t generation = s->generation;
        struct slot *next = s->next;
        if (s->due_ns <= now)
            act(p, s, now);
        /* A callback may have released or reused slots, the next one of ours among them: start over
         * then. */
        if (s->generation != generation && next != NULL && next->kind == FREE)
            next = p->busy;
        s = next;
    }
    if (p->inflight > 0)
        loop_timer_start(p->loop, &p->tick, TICK_MS, on_tick, p);
}

ax_err pipeline_new(struct pipeline **out, struct wire *wire, struct loop *l, int max_inflight)
{
    struct pipeline *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AX_E_NOMEM;
    p->slots = calloc((size_t)max_inflight, sizeof(*p->slots));
    if (p->slots == NULL) {
        free(p);
        return AX_E_NOMEM;
    }
    p->wire = wire;
    p->loop = l;
    p->count = max_inflight;
    p->no_responders_backoff_ns = BACKOFF_FIRST_NS;
    for (int i = max_inflight - 1; i >= 0; i--)
        LL_PREPEND(p->free, &p->slots[i]);
    char inbox[INBOX_MAX], subject[INBOX_MAX + 2];
    inbox_new(inbox);
    p->prefix_chars = (size_t)snprintf(p->prefix, sizeof(p->prefix), "%s.", inbox);
    snprintf(subject, sizeof(subject), "%s*", p->prefix);
    struct wire_sub *sub;
    ax_err err = wire_subscribe(wire, &sub, subject, NULL, on_message, p);
    if (err != AX_OK) {
        free(p->slots);
        free(p);
        return err;
    }
    wire_on_no_responders(wire, sub, on_no_responders);
    *out = p;
    return AX_OK;
}

ax_err pipeline_reserve(struct pipeline *p, char *buf)
{
    struct slot *s = acquire(p, RESERVED);
    if (s == NULL)
        return AX_E_BUSY;
    format_reply(p, s, buf);
    return AX_OK;
}

void pipeline_cancel(struct pipeline *p, const char *reply)
{
    struct slot *s = slot_of(p, reply);
    if (s != NULL && s->kind == RESERVED)
        release(p, s);
}

ax_err pipeline_publish(struct pipeline *p, const char *reply, natsMsg *msg, int64_t give_up_ms,
                        pipeline_cb cb, void *arg)
{
    struct slot *s = slot_of(p, reply);
    if (s == NULL || s->kind != RESERVED) {
        natsMsg_Destroy(msg);
        return AX_E_INVALID;
    }
    if (msg == NULL) { /* nats.c 3.4 would follow the pointer */
        release(p, s);
        return AX_E_NOMEM;
    }
    ax_err err = send(p, s, msg);
    if (is_final(err)) {
        natsMsg_Destroy(msg);
        release(p, s);
        return err;
    }
    s->kind = PUBLISH;
    s->msg = msg;
    s->cb.one = cb;
    s->arg = arg;
    s->give_up_ns = give_up_ms > 0 ? loop_now_ns(p->loop) + give_up_ms * 1000000 : 0;
    return AX_OK;
}

static ax_err request(struct pipeline *p, enum kind kind, const char *subject, const void *data,
                      size_t bytes, int64_t timeout_ms, struct slot **out)
{
    char reply[PIPELINE_REPLY_MAX];
    struct slot *s = acquire(p, kind);
    *out = s;
    if (s == NULL)
        return AX_E_BUSY;
    format_reply(p, s, reply);
    ax_err err = wire_request(p->wire, subject, reply, data, bytes);
    if (err != AX_OK) {
        release(p, s);
        return err;
    }
    s->due_ns = loop_now_ns(p->loop) + timeout_ms * 1000000;
    return AX_OK;
}

ax_err pipeline_request(struct pipeline *p, const char *subject, const void *data, size_t bytes,
                        int64_t timeout_ms, pipeline_cb cb, void *arg)
{
    struct slot *s;
    ax_err err = request(p, REQUEST, subject, data, bytes, timeout_ms, &s);
    if (err == AX_OK) {
        s->cb.one = cb;
        s->arg = arg;
    }
    return err;
}

ax_err pipeline_request_many(struct pipeline *p, const char *subject, const void *data,
                             size_t bytes, int64_t idle_ms, pipeline_many_cb cb, void *arg)
{
    struct slot *s;
    ax_err err = request(p, REQUEST_MANY, subject, data, bytes, idle_ms, &s);
    if (err == AX_OK) {
        s->cb.many = cb;
        s->arg = arg;
        s->idle_ns = idle_ms * 1000000;
    }
    return err;
}

int pipeline_inflight(const struct pipeline *p)
{
    return p->inflight;
}

int pipeline_room(const struct pipeline *p)
{
    return p->count - p->inflight;
}

void pipeline_give_up(struct pipeline *p, pipeline_cb cb, bool (*which)(const void *arg))
{
    int64_t now = loop_now_ns(p->loop);
    struct slot *s;
    DL_FOREACH(p->busy, s) {
        if (s->kind == PUBLISH && s->cb.one == cb && which(s->arg))
            s->due_ns = s->give_up_ns = now;
    }
}

void pipeline_reconnected(struct pipeline *p)
{
    all_due(p, loop_now_ns(p->loop));
    on_tick(p);
}
