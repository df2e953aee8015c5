#include "bus/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/puback.h"
#include "task/names.h"

#define TICK_MS 100
#define ANSWER_WAIT_NS 3000000000LL  /* a publish without a word: sent again after this */
#define BACKOFF_FIRST_NS 100000000LL /* after "no responders" and the like */
#define BACKOFF_MAX_NS 2000000000LL

enum kind { FREE, RESERVED, PUBLISH, REQUEST, REQUEST_MANY };

struct slot {
    enum kind kind;
    /* part of the reply subject, so that a late answer to an earlier use is told apart: in a
     * cluster several nodes may answer one question, while its stream has no leader or changes
     * it */
    uint32_t generation;
    int tries;
    int prev, next;     /* list of what is in flight, oldest first; free slots use next only */
    natsMsg *msg;       /* PUBLISH: kept until there is a word */
    int64_t due_ns;     /* when to act next: publish again, or time out */
    int64_t give_up_ns; /* PUBLISH: 0 never */
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
    char prefix[40];
    size_t prefix_chars;
    struct slot *slots;
    int count, inflight;
    int free_head, head, tail; /* -1: none */
    struct loop_timer tick;
    bool unheard;       /* "no responders" to some publish since the last tick */
    int64_t unheard_ns; /* when to publish again because of that; 0: not waiting */
    int64_t calm_ns;    /* how long to wait then */
};

static void on_tick(void *arg);

static void link_tail(struct pipeline *p, int i)
{
    struct slot *s = &p->slots[i];
    s->next = -1;
    s->prev = p->tail;
    if (p->tail >= 0)
        p->slots[p->tail].next = i;
    else
        p->head = i;
    p->tail = i;
}

static void release(struct pipeline *p, int i)
{
    struct slot *s = &p->slots[i];
    if (s->prev >= 0)
        p->slots[s->prev].next = s->next;
    else
        p->head = s->next;
    if (s->next >= 0)
        p->slots[s->next].prev = s->prev;
    else
        p->tail = s->prev;
    natsMsg_Destroy(s->msg);
    s->msg = NULL;
    s->kind = FREE;
    s->generation++;
    s->next = p->free_head;
    p->free_head = i;
    p->inflight--;
}

static int acquire(struct pipeline *p, enum kind kind)
{
    int i = p->free_head;
    if (i < 0)
        return -1;
    struct slot *s = &p->slots[i];
    p->free_head = s->next;
    s->kind = kind;
    s->tries = kind == RESERVED ? 0 : 1;
    s->msg = NULL;
    s->due_ns = INT64_MAX;
    s->give_up_ns = 0;
    s->backoff_ns = BACKOFF_FIRST_NS;
    link_tail(p, i);
    p->inflight++;
    if (!loop_timer_is_running(&p->tick))
        loop_timer_start(p->loop, &p->tick, TICK_MS, on_tick, p);
    return i;
}

static void format_reply(const struct pipeline *p, int i, char *buf)
{
    snprintf(buf, PIPELINE_REPLY_MAX, "%s%x-%" PRIx32, p->prefix, (unsigned)i,
             p->slots[i].generation);
}

/* The slot a reply subject names; -1: none, or its question has been answered already. */
static int slot_of(const struct pipeline *p, const char *subject)
{
    if (strncmp(subject, p->prefix, p->prefix_chars) != 0)
        return -1;
    char *end;
    unsigned long i = strtoul(subject + p->prefix_chars, &end, 16);
    if (*end != '-' || i >= (unsigned long)p->count)
        return -1;
    unsigned long generation = strtoul(end + 1, &end, 16);
    if (*end != '\0' || p->slots[i].kind == FREE || p->slots[i].generation != (uint32_t)generation)
        return -1;
    return (int)i;
}

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

static void retry_later(struct pipeline *p, struct slot *s)
{
    s->due_ns = loop_now_ns(p->loop) + s->backoff_ns;
    s->backoff_ns = s->backoff_ns * 2 > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : s->backoff_ns * 2;
}

static void answer_publish(struct pipeline *p, int i, struct answer *a)
{
    struct slot *s = &p->slots[i];
    if (a->err == AX_OK)
        puback_read(natsMsg_GetData(a->reply), (size_t)natsMsg_GetDataLength(a->reply), a);
    if (is_unknown(a)) {
        retry_later(p, s);
        return;
    }
    a->tries = s->tries;
    pipeline_cb cb = s->cb.one;
    void *arg = s->arg;
    release(p, i);
    cb(arg, a);
}

static void on_message(void *arg, natsMsg *msg)
{
    struct pipeline *p = arg;
    int i = slot_of(p, natsMsg_GetSubject(msg));
    if (i >= 0) {
        struct slot *s = &p->slots[i];
        struct answer a = {.err = AX_OK, .reply = msg, .tries = 1};
        if (s->kind == PUBLISH) {
            answer_publish(p, i, &a);
        } else if (s->kind == REQUEST_MANY && a.err == AX_OK) {
            s->due_ns = loop_now_ns(p->loop) + s->idle_ns;
            if (!s->cb.many(s->arg, &a))
                release(p, i);
        } else if (s->kind == REQUEST || s->kind == REQUEST_MANY) {
            bool many = s->kind == REQUEST_MANY;
            pipeline_cb one = s->cb.one;
            pipeline_many_cb all = s->cb.many;
            void *cb_arg = s->arg;
            release(p, i);
            if (many)
                all(cb_arg, &a);
            else
                one(cb_arg, &a);
        }
    }
    natsMsg_Destroy(msg);
}

static bool is_final(ax_err err)
{
    return err == AX_E_TOO_LONG || err == AX_E_INVALID || err == AX_E_NOMEM;
}

/* Any other error is one more unknown: due_ns stands. */
static ax_err send(struct pipeline *p, struct slot *s, natsMsg *msg)
{
    bool away = wire_is_away(p->wire);
    ax_err err = away ? AX_E_DISCONNECTED : wire_publish_msg(p->wire, msg);
    s->tries += !away;
    s->due_ns = loop_now_ns(p->loop) + (err == AX_OK ? ANSWER_WAIT_NS : BACKOFF_FIRST_NS);
    return err;
}

static void end_with(struct pipeline *p, int i, ax_err err)
{
    struct slot *s = &p->slots[i];
    struct answer a = {.err = err, .tries = s->tries};
    enum kind kind = s->kind;
    pipeline_cb one = s->cb.one;
    pipeline_many_cb many = s->cb.many;
    void *arg = s->arg;
    release(p, i);
    if (kind == REQUEST_MANY)
        many(arg, &a);
    else
        one(arg, &a);
}

static void on_no_responders(void *arg)
{
    struct pipeline *p = arg;
    p->unheard = true;
}

static void all_due(struct pipeline *p, int64_t now)
{
    for (int i = p->head; i >= 0; i = p->slots[i].next) {
        if (p->slots[i].kind == PUBLISH)
            p->slots[i].due_ns = now;
    }
}

/* A stream is without a leader and publishes went nowhere, which ones is not told: everything under
 * way goes out again after a pause, which grows while that goes on. */
static void again_if_unheard(struct pipeline *p, int64_t now)
{
    if (p->unheard && p->unheard_ns == 0) {
        p->unheard_ns = now + p->calm_ns;
        p->calm_ns = p->calm_ns * 2 > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : p->calm_ns * 2;
    } else if (p->unheard_ns != 0 && p->unheard_ns <= now) {
        p->unheard_ns = 0;
        p->unheard = false;
        all_due(p, now);
    } else if (!p->unheard) {
        p->calm_ns = BACKOFF_FIRST_NS;
    }
}

static void on_tick(void *arg)
{
    struct pipeline *p = arg;
    int64_t now = loop_now_ns(p->loop);
    again_if_unheard(p, now);
    for (int i = p->head; i >= 0;) {
        struct slot *s = &p->slots[i];
        uint32_t generation = s->generation;
        int next = s->next;
        if (s->due_ns <= now) {
            bool again = s->kind == PUBLISH && (s->give_up_ns == 0 || s->give_up_ns > now);
            ax_err err = again ? send(p, s, s->msg) : AX_E_TIMEOUT;
            if (s->kind != RESERVED && (!again || (is_final(err) && err != AX_E_NOMEM)))
                end_with(p, i, err);
        }
        /* A callback may have released or reused slots, the next one of ours among them: start over
         * then. */
        if (p->slots[i].generation != generation && next >= 0 && p->slots[next].kind == FREE)
            next = p->head;
        i = next;
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
    p->head = p->tail = -1;
    p->free_head = 0;
    p->calm_ns = BACKOFF_FIRST_NS;
    for (int i = 0; i < max_inflight; i++)
        p->slots[i].next = i + 1 < max_inflight ? i + 1 : -1;
    char id[TASK_ID_CHARS + 1], subject[48];
    name_new_id(id);
    p->prefix_chars = (size_t)snprintf(p->prefix, sizeof(p->prefix), "_INBOX.%.26s.", id);
    snprintf(subject, sizeof(subject), "%s*", p->prefix);
    struct wire_sub *sub;
    ax_err err = wire_subscribe(wire, &sub, subject, NULL, on_message, p);
    if (err != AX_OK) {
        pipeline_free(p);
        return err;
    }
    wire_on_no_responders(wire, sub, on_no_responders);
    *out = p;
    return AX_OK;
}

void pipeline_free(struct pipeline *p)
{
    if (p == NULL)
        return;
    loop_timer_stop(p->loop, &p->tick);
    while (p->head >= 0)
        release(p, p->head);
    free(p->slots);
    free(p);
}

ax_err pipeline_reserve(struct pipeline *p, char *buf)
{
    int i = acquire(p, RESERVED);
    if (i < 0)
        return AX_E_BUSY;
    format_reply(p, i, buf);
    return AX_OK;
}

void pipeline_cancel(struct pipeline *p, const char *reply)
{
    int i = slot_of(p, reply);
    if (i >= 0 && p->slots[i].kind == RESERVED)
        release(p, i);
}

ax_err pipeline_publish(struct pipeline *p, const char *reply, natsMsg *msg, int64_t give_up_ms,
                        pipeline_cb cb, void *arg)
{
    int i = slot_of(p, reply);
    if (i < 0 || p->slots[i].kind != RESERVED) {
        natsMsg_Destroy(msg);
        return AX_E_INVALID;
    }
    struct slot *s = &p->slots[i];
    if (msg == NULL) { /* nats.c 3.4 would follow the pointer */
        release(p, i);
        return AX_E_NOMEM;
    }
    ax_err err = send(p, s, msg);
    if (is_final(err)) {
        natsMsg_Destroy(msg);
        release(p, i);
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
                      size_t bytes, int64_t timeout_ms, int *slot)
{
    char reply[PIPELINE_REPLY_MAX];
    int i = acquire(p, kind);
    *slot = i;
    if (i < 0)
        return AX_E_BUSY;
    format_reply(p, i, reply);
    ax_err err = wire_request(p->wire, subject, reply, data, bytes);
    if (err != AX_OK) {
        release(p, i);
        return err;
    }
    p->slots[i].due_ns = loop_now_ns(p->loop) + timeout_ms * 1000000;
    return AX_OK;
}

ax_err pipeline_request(struct pipeline *p, const char *subject, const void *data, size_t bytes,
                        int64_t timeout_ms, pipeline_cb cb, void *arg)
{
    int i;
    ax_err err = request(p, REQUEST, subject, data, bytes, timeout_ms, &i);
    if (err == AX_OK) {
        p->slots[i].cb.one = cb;
        p->slots[i].arg = arg;
    }
    return err;
}

ax_err pipeline_request_many(struct pipeline *p, const char *subject, const void *data,
                             size_t bytes, int64_t idle_ms, pipeline_many_cb cb, void *arg)
{
    int i;
    ax_err err = request(p, REQUEST_MANY, subject, data, bytes, idle_ms, &i);
    if (err == AX_OK) {
        p->slots[i].cb.many = cb;
        p->slots[i].arg = arg;
        p->slots[i].idle_ns = idle_ms * 1000000;
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
    for (int i = p->head; i >= 0; i = p->slots[i].next) {
        struct slot *s = &p->slots[i];
        if (s->kind == PUBLISH && s->cb.one == cb && which(s->arg))
            s->due_ns = s->give_up_ns = now;
    }
}

void pipeline_reconnected(struct pipeline *p)
{
    all_due(p, loop_now_ns(p->loop));
    on_tick(p);
}
