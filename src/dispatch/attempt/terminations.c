#include "dispatch/attempt/terminations.h"
#include "dispatch/attempt/attempt_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/advisory.h"
#include "bus/reader.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"

#define KNOWN_MAX 8192

static void start(struct terminations *t);

static bool push(struct attempt_list *l, struct attempt *r)
{
    if (l->count == l->cap) {
        size_t cap = l->cap == 0 ? 64 : l->cap * 2;
        struct attempt **grown = realloc(l->list, cap * sizeof(struct attempt *));
        if (grown == NULL)
            return false;
        l->list = grown;
        l->cap = cap;
    }
    l->list[l->count++] = r;
    return true;
}

static void forget(struct terminations *t, struct termination *x)
{
    HASH_DEL(t->known, x);
    free(x->reason);
    free(x);
}

static bool remember(struct terminations *t, const struct advisory *a, int64_t time_ns)
{
    struct termination *x = NULL;
    uint64_t work_seq = a->stream_seq;
    char reason[ADVISORY_REASON_MAX + 16];
    HASH_FIND(hh, t->known, &work_seq, sizeof(work_seq), x);
    if (x != NULL)
        forget(t, x);
    if (HASH_COUNT(t->known) >= KNOWN_MAX)
        forget(t, t->known);
    x = calloc(1, sizeof(*x));
    if (x == NULL)
        return false;
    snprintf(reason, sizeof(reason), "terminated%s%s", a->has_reason ? ": " : "", a->reason);
    x->reason = strdup(reason);
    if (x->reason == NULL) {
        free(x);
        return false;
    }
    x->work_seq = work_seq;
    x->time_ns = time_ns;
    HASH_ADD(hh, t->known, work_seq, sizeof(x->work_seq), x);
    return true;
}

static void on_event(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    (void)subject;
    (void)seq;
    struct terminations *t = arg;
    struct advisory a;
    if (!advisory_read(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &a) ||
        (!a.is_servers_own && !remember(t, &a, time_ns)))
        t->unread = true;
}

static void answer(struct terminations *t, struct attempt *r, bool read)
{
    struct termination *x = NULL;
    HASH_FIND(hh, t->known, &r->hand_off.seq, sizeof(r->hand_off.seq), x);
    if (x != NULL && x->time_ns < r->hand_off.epoch_ns)
        x = NULL; /* of an AX_WORK that was deleted */
    attempt_ask_terminated(r, read || x != NULL, x != NULL ? x->reason : NULL);
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct terminations *t = arg;
    struct attempt_list asked = t->asking;
    /* its numbers start again: so do we */
    bool recreated = err == AX_OK && last_seq + 1 < t->next_seq;
    bool read = err == AX_OK && !t->unread && !recreated;
    t->asking = (struct attempt_list){0};
    t->reading = false;
    if (recreated)
        t->next_seq = 1;
    else if (read)
        t->next_seq = last_seq + 1;
    for (size_t i = 0; i < asked.count; i++) {
        if (!recreated || !push(&t->waiting, asked.list[i]))
            answer(t, asked.list[i], read);
    }
    free(asked.list);
    start(t);
}

static void start(struct terminations *t)
{
    struct dispatch *d = t->pool->dispatch;
    char filter[160];
    if (t->reading || t->waiting.count == 0)
        return;
    t->asking = t->waiting;
    t->waiting = (struct attempt_list){0};
    t->unread = false;
    snprintf(filter, sizeof(filter),
             "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED." STREAM_WORK ".%s", t->pool->name);
    struct reader_events events = {on_event, on_end, t};
    t->reading = reader_start(NULL, d->pipeline, d->loop, STREAM_EVENTS, filter, t->next_seq,
                              &events) == AX_OK;
    if (!t->reading)
        on_end(t, AX_E_BUSY, 0);
}

bool terminations_ask(struct attempt *a)
{
    struct terminations *t = &a->pool->terminations;
    if (!push(&t->waiting, a))
        return false;
    start(t);
    return true;
}

void terminations_init(struct terminations *t, struct pool *p)
{
    *t = (struct terminations){.pool = p, .next_seq = 1};
}
