#include "bus/provision/asker.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define UNDER_WAY_MAX 16 /* enough to hide the way to the server; the rest of AX shares it */

struct asker_question {
    struct asker *asker;
    char what[API_SUBJECT_MAX];
    json_t *payload;
    api_cb cb;
    void *arg;
    struct asker_question *prev, *next;
};

void asker_init(struct asker *a, struct pipeline *p, struct loop *l)
{
    *a = (struct asker){.pipeline = p, .loop = l};
}

void asker_init_blocking(struct asker *a, asker_request request, void *arg)
{
    *a = (struct asker){.request = request, .request_arg = arg};
}

static void pump(struct asker *a);

static void on_answer(void *arg, const struct api_answer *answer)
{
    struct asker_question *q = arg;
    struct asker *a = q->asker;
    a->under_way--;
    q->cb(q->arg, answer);
    free(q);
    pump(a);
}

static void fail(struct asker_question *q, ax_err err)
{
    const struct api_answer failed = {.err = err};
    q->cb(q->arg, &failed);
    free(q);
}

/* A question that cannot be sent fails; the next one is tried all the same. */
static void pump(struct asker *a)
{
    while (a->pipeline != NULL && !a->stopped && a->waiting != NULL &&
           a->under_way < UNDER_WAY_MAX) {
        struct asker_question *q = a->waiting;
        DL_DELETE(a->waiting, q);
        a->under_way++;
        ax_err err = api_ask(a->pipeline, a->loop, q->what, q->payload, ASKER_TIMEOUT_MS, on_answer,
                             q);
        if (err != AX_OK) {
            a->under_way--;
            fail(q, err);
        }
    }
}

void asker_ask(struct asker *a, const char *what, json_t *payload, api_cb cb, void *arg)
{
    struct asker_question *q = calloc(1, sizeof(*q));
    if (q == NULL || strlen(what) >= sizeof(q->what)) {
        const struct api_answer failed = {.err = q == NULL ? AX_E_NOMEM : AX_E_TOO_LONG};
        json_decref(payload);
        free(q);
        cb(arg, &failed);
        return;
    }
    *q = (struct asker_question){.asker = a, .payload = payload, .cb = cb, .arg = arg};
    strcpy(q->what, what);
    DL_APPEND(a->waiting, q);
    pump(a);
}

void asker_rest(struct asker *a, int64_t ms, void (*then)(void *arg), void *arg)
{
    if (a->pipeline != NULL) {
        loop_timer_start(a->loop, &a->timer, ms, then, arg);
        return;
    }
    a->rest = then;
    a->rest_arg = arg;
    a->rest_ms = ms;
}

void asker_stop(struct asker *a)
{
    a->stopped = true;
    if (a->loop != NULL)
        loop_timer_stop(a->loop, &a->timer);
}

/* ---- a command ---- */

static void ask_blocking(struct asker *a, struct asker_question *q)
{
    struct api_answer answer;
    json_t *root;
    a->request(a->request_arg, q->what, q->payload, &answer, &root);
    q->cb(q->arg, &answer);
    json_decref(root);
    free(q);
}

void asker_run(struct asker *a)
{
    while (a->waiting != NULL || a->rest != NULL) {
        struct asker_question *q = a->waiting;
        if (q != NULL) {
            DL_DELETE(a->waiting, q);
            ask_blocking(a, q);
            continue;
        }
        void (*then)(void *arg) = a->rest;
        poll(NULL, 0, (int)a->rest_ms);
        a->rest = NULL;
        then(a->rest_arg);
    }
}
