#include "ingress/submit/submits.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ingress/door/account.h"
#include "ingress/ingress.h"
#include "ingress/submit/submission.h"

#define FREE_MAX 4096        /* submissions kept for the next ones */
#define ROOM_FOR_OTHERS 1024 /* as in submission_ask.c */
#define SWEEP_MS 1000
#define ANSWER_LIMIT_NS 30000000000LL

static const int64_t WAIT_MS[SUBMITS_WAITS] = {
    [SUBMITS_DEFERRED] = 20,
    [SUBMITS_BRIEF] = 10,
    [SUBMITS_RETRY] = SUBMITS_RETRY_MS,
};

/* Those that wait for one thing, in the order in which they began to. */
struct waiting {
    struct submission *list;
    struct loop_timer timer;
};

struct submits {
    struct ingress *ing;
    struct submission *list; /* in flight, oldest first */
    int in_flight, silent, waiting_count;
    struct submission *free_list;
    int free_count;
    struct waiting waiting[SUBMITS_WAITS];
    bool resuming;
    struct loop_timer sweep_timer;
};

/* ---- waiting */

static void resume(struct submits *ss, struct submission **list)
{
    struct submission *s = *list;
    DL_DELETE2(*list, s, wait_prev, wait_next);
    ss->waiting_count--;
    submission_event(s, SUBMISSION_RESUME);
}

static void run_deferred(void *arg)
{
    struct submits *ss = arg;
    struct waiting *w = &ss->waiting[SUBMITS_DEFERRED];
    if (ss->resuming)
        return;
    ss->resuming = true;
    while (w->list != NULL && pipeline_room(ss->ing->pipe) > ROOM_FOR_OTHERS)
        resume(ss, &w->list);
    ss->resuming = false;
    if (w->list != NULL && !loop_timer_is_running(&w->timer)) {
        loop_timer_start(ss->ing->loop, &w->timer, WAIT_MS[SUBMITS_DEFERRED], run_deferred, ss);
    }
}

/* Those that wait now; one that begins to wait meanwhile has its turn next time. */
static void run_all(struct submits *ss, struct waiting *w)
{
    struct submission *list = w->list;
    w->list = NULL;
    while (list != NULL)
        resume(ss, &list);
}

static void run_brief(void *arg)
{
    struct submits *ss = arg;
    run_all(ss, &ss->waiting[SUBMITS_BRIEF]);
}

static void run_retry(void *arg)
{
    struct submits *ss = arg;
    run_all(ss, &ss->waiting[SUBMITS_RETRY]);
}

void submits_wait(struct submits *ss, struct submission *s, enum submits_wait wait)
{
    static void (*const run[SUBMITS_WAITS])(void *) = {
        [SUBMITS_DEFERRED] = run_deferred,
        [SUBMITS_BRIEF] = run_brief,
        [SUBMITS_RETRY] = run_retry,
    };
    struct waiting *w = &ss->waiting[wait];
    DL_APPEND2(w->list, s, wait_prev, wait_next);
    ss->waiting_count++;
    if (!loop_timer_is_running(&w->timer))
        loop_timer_start(ss->ing->loop, &w->timer, WAIT_MS[wait], run[wait], ss);
}

void submits_retry(struct submits *ss)
{
    loop_timer_stop(ss->ing->loop, &ss->waiting[SUBMITS_RETRY].timer);
    run_retry(ss);
}

/* ---- in flight */

int submits_in_flight(const struct submits *ss)
{
    return ss->in_flight;
}

bool submits_are_full(const struct submits *ss)
{
    return ss->in_flight - ss->silent >= ss->ing->options->inflight;
}

void submits_count_silent(struct submits *ss, int more)
{
    ss->silent += more;
}

struct submission *submits_add(struct submits *ss)
{
    struct submission *s = ss->free_list;
    if (s != NULL) {
        LL_DELETE2(ss->free_list, s, wait_next);
        ss->free_count--;
        memset(s, 0, sizeof(*s));
    } else if ((s = calloc(1, sizeof(*s))) == NULL) {
        return NULL;
    }
    DL_APPEND(ss->list, s);
    ss->in_flight++;
    return s;
}

void submits_remove(struct submits *ss, struct submission *s)
{
    DL_DELETE(ss->list, s);
    ss->in_flight--;
    if (ss->free_count < FREE_MAX) {
        LL_PREPEND2(ss->free_list, s, wait_next);
        ss->free_count++;
    } else {
        free(s);
    }
    if (ss->waiting[SUBMITS_DEFERRED].list != NULL)
        run_deferred(ss);
}

/* A producer that has waited for too long is told that the outcome is unknown; the work goes on. */
static void sweep(void *arg)
{
    struct submits *ss = arg;
    struct submission *s, *next;
    int64_t limit_ns = loop_now_ns(ss->ing->loop) - ANSWER_LIMIT_NS;
    DL_FOREACH_SAFE(ss->list, s, next) {
        if (s->source.since_ns >= limit_ns)
            break;
        if (!s->source.answered && s->facts.replies)
            submission_event(s, SUBMISSION_OVERDUE);
    }
    metric_set(ss->ing->counters.in_flight, ss->in_flight);
    metric_set(ss->ing->counters.memory.bytes, account_bytes(ss->ing->account));
    metric_set(ss->ing->counters.memory.bytes_limit, ss->ing->options->max_memory_bytes);
    metric_set(ss->ing->counters.deferred, ss->waiting_count);
    loop_timer_start(ss->ing->loop, &ss->sweep_timer, SWEEP_MS, sweep, ss);
}

ax_err submits_new(struct submits **out, struct ingress *ing)
{
    struct submits *ss = calloc(1, sizeof(*ss));
    if (ss == NULL)
        return AX_E_NOMEM;
    ss->ing = ing;
    *out = ss;
    loop_timer_start(ing->loop, &ss->sweep_timer, SWEEP_MS, sweep, ss);
    return AX_OK;
}
