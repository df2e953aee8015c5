#include "cli/submit/submit_one.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/nearest.h"
#include "bus/connect.h"
#include "bus/provision/provision.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/streams/find.h"
#include "cli/streams/recorded.h"

#define ANSWER_TIMEOUT_MS 5000
#define TRIES 6
#define TRY_AGAIN_MS 200 /* times the number of tries */
#define LOOK_AGAIN_MS 5000
#define LISTEN_MS 10
#define ANSWER_INVALID 400 /* code of an answer: what was given is not allowed */

/* ---- submitting */

static void offer_once(natsConnection *nc, natsMsg *msg, struct submit_answer *a)
{
    natsMsg *reply = NULL;
    natsStatus s = natsConnection_RequestMsg(&reply, nc, msg, ANSWER_TIMEOUT_MS);
    if (s == NATS_OK) {
        submit_parse(a, reply);
        natsMsg_Destroy(reply);
        return;
    }
    bool unknown = s == NATS_TIMEOUT || s == NATS_NO_RESPONDERS;
    *a = (struct submit_answer){.outcome = unknown ? SUBMIT_UNANSWERED : SUBMIT_REFUSED,
                                .nobody = s == NATS_NO_RESPONDERS};
    if (s == NATS_MAX_PAYLOAD) {
        snprintf(a->description, sizeof(a->description),
                 "body: %d bytes are not allowed; the server takes messages of at most %" PRId64
                 " with their headers (max_payload)",
                 natsMsg_GetDataLength(msg), natsConnection_GetMaxPayload(nc));
        return;
    }
    snprintf(a->description, sizeof(a->description), "%s", ax_err_text(connect_error(s)));
}

/* Offers the task until it is answered, or may not be offered again. */
static void offer(natsConnection *nc, const struct submit_flags *f, natsMsg *msg,
                  struct submit_answer *a)
{
    for (int tries = 1;; tries++) {
        offer_once(nc, msg, a);
        if (a->outcome == SUBMIT_BUSY && f->retry_busy) {
            nats_Sleep(a->retry_after_ms);
            continue;
        }
        /* When nobody listens it certainly was not accepted, so it may be offered again even
         * without a key. */
        if (a->outcome != SUBMIT_UNANSWERED || tries >= TRIES || (f->key == NULL && !a->nobody))
            return;
        nats_Sleep(TRY_AGAIN_MS * tries);
    }
}

/* ---- waiting for the end */

enum { SUB_DONE, SUB_DEAD, SUB_BATCHES, SUBS };
struct waiting {
    natsConnection *nc;
    const struct submit_flags *flags;
    const char *id;
    natsSubscription *subs[SUBS]; /* to the messages that may record the task's end */
    int64_t deadline_ms;
};

static natsStatus subscribe(struct waiting *w)
{
    char done[SUBJECT_MAX_CHARS], dead[SUBJECT_MAX_CHARS];
    snprintf(done, sizeof(done), DONE_PREFIX "%s", w->id);
    name_subject_dead(dead, w->flags->pool, w->id);
    natsStatus s = natsConnection_SubscribeSync(&w->subs[SUB_DONE], w->nc, done);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&w->subs[SUB_DEAD], w->nc, dead);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&w->subs[SUB_BATCHES], w->nc, RECORD_BATCH_SUBJECTS);
    if (s == NATS_OK)
        s = natsConnection_FlushTimeout(w->nc, ANSWER_TIMEOUT_MS);
    return s;
}

/* True: this subscription has a message that records the task's end. */
static bool heard_on(const struct waiting *w, int sub, int64_t until_ms)
{
    natsMsg *msg = NULL;
    bool heard = false;
    while (!heard && clock_now_ms() < until_ms &&
           natsSubscription_NextMsg(&msg, w->subs[sub], LISTEN_MS) == NATS_OK) {
        heard = sub != SUB_BATCHES || recorded_in(msg, w->id);
        natsMsg_Destroy(msg);
    }
    return heard;
}

/* Until a message records the end, or it is time to look for the task again. */
static void listen(const struct waiting *w)
{
    int64_t until_ms = clock_now_ms() + LOOK_AGAIN_MS;
    until_ms = until_ms < w->deadline_ms ? until_ms : w->deadline_ms;
    for (int i = 0; clock_now_ms() < until_ms && !heard_on(w, i, until_ms); i = (i + 1) % SUBS) {
    }
}

static bool is_passing(ax_err err)
{
    return err == AX_E_TIMEOUT || err == AX_E_NO_RESPONDERS || err == AX_E_DISCONNECTED;
}

/* Looking for a task reads AX's streams, which a team in an account of its own cannot: without this
 * it would wait for ever. */
static bool is_forbidden(natsConnection *nc)
{
    const char *text = NULL;
    return natsConnection_GetLastError(nc, &text) == NATS_NOT_PERMITTED;
}

static int look_and_listen(const struct waiting *w, struct found *found)
{
    for (;;) {
        struct problem p = {0};
        ax_err err = find_task(w->nc, w->flags->pool, w->id, found, &p);
        if (err != AX_OK && is_forbidden(w->nc)) {
            return say(CLI_FAILED,
                       "--wait: the task is accepted (%s), but this user may not look for it; "
                       "submit without --wait",
                       w->id);
        }
        if (err != AX_OK && !is_passing(err))
            return say_problem(&p);
        if (err == AX_OK && found->state == TASK_DONE)
            return CLI_OK;
        if (err == AX_OK && (found->state == TASK_CANCELLED || found->state == TASK_DEAD))
            return CLI_FAILED;
        if (clock_now_ms() >= w->deadline_ms) {
            return say(CLI_FAILED, "--wait: task %s is %s after %" PRId64 " ms", w->id,
                       find_state_text(found->state), w->flags->wait_ms);
        }
        listen(w);
    }
}

/* Subscribes before the first look: an end that came before is seen by the look, and one that comes
 * later arrives on a subscription. */
static int wait_end(natsConnection *nc, const struct submit_flags *f, const char *id,
                    struct found *found)
{
    struct waiting w = {.nc = nc, .flags = f, .id = id};
    natsStatus s = subscribe(&w);
    w.deadline_ms = clock_now_ms() + f->wait_ms;
    int code = s == NATS_OK ? look_and_listen(&w, found)
                            : say(CLI_FAILED, "--wait: %s", natsStatus_GetText(s));
    for (int i = 0; i < SUBS; i++)
        natsSubscription_Destroy(w.subs[i]);
    return code;
}

/* ---- what is printed */

/* Where it is known that there is no such priority, that and which one may be meant is said; -1: it
 * is there, or cannot be asked for. */
static int say_priority(natsConnection *nc, const struct submit_flags *f)
{
    struct priorities ps;
    struct nearest near = {.word = f->priority};
    char all[256] = "", hint[64];
    if (provision_priorities(nc, &ps, NULL) != AX_OK || ps.count == 0 ||
        priorities_find(&ps, f->priority) >= 0)
        return -1;
    for (int i = 0; i < ps.count; i++) {
        size_t used = strlen(all);
        nearest_offer(&near, ps.list[i].name);
        snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", ps.list[i].name);
    }
    return say(CLI_USAGE, "--priority: there is no %s%s; there are: %s", f->priority,
               nearest_text(&near, "", hint, sizeof(hint)), all);
}

static int say_nobody(natsConnection *nc, const struct submit_flags *f)
{
    int code = say_priority(nc, f);
    return code >= 0 ? code : say(CLI_FAILED, "nobody takes submissions: is ax-ingress running?");
}

static int say_refused(natsConnection *nc, const struct submit_flags *f,
                       const struct submit_answer *a)
{
    int code = a->code == ANSWER_INVALID ? say_priority(nc, f) : -1;
    return code >= 0
               ? code
               : say(a->code == ANSWER_INVALID ? CLI_USAGE : CLI_FAILED, "%s", a->description);
}

static int say_unanswered(natsConnection *nc, const struct submit_flags *f,
                          const struct submit_answer *a)
{
    if (a->nobody)
        return say_nobody(nc, f);
    return say(CLI_FAILED, "no answer%s%s: it is not known whether the task was accepted%s",
               a->description[0] != '\0' ? ": " : "", a->description,
               f->key != NULL ? "; submit it again with the same key"
                              : "; with a --key it could be offered again safely");
}

static json_t *answer_json(const struct submit_answer *a)
{
    return json_pack("{s:s,s:s,s:b,s:s,s:I}", "task", a->id, "state", a->state, "duplicate",
                     a->outcome == SUBMIT_DUPLICATE, "stream", a->stream, "seq",
                     (json_int_t)a->seq);
}

static const char *mark(const struct submit_answer *a)
{
    return a->outcome == SUBMIT_DUPLICATE ? " (duplicate)" : "";
}

static int report_accepted(const struct submit_flags *f, const struct submit_answer *a)
{
    if (f->json)
        output_json(answer_json(a));
    else
        output_print("%s %s%s\n", a->id, a->state, mark(a));
    return CLI_OK;
}

static int report_end(natsConnection *nc, const struct submit_flags *f,
                      const struct submit_answer *a)
{
    struct found found = {0};
    int code = wait_end(nc, f, a->id, &found);
    if (f->json) {
        json_t *o = answer_json(a), *end = find_json(&found);
        json_object_update(o, end);
        json_decref(end);
        output_json(o);
    } else {
        output_print("%s %s%s%s%s\n", a->id, find_state_text(found.state), mark(a),
                     found.reason[0] != '\0' ? ": " : "", found.reason);
    }
    return code;
}

static int report(natsConnection *nc, const struct submit_flags *f, const struct submit_answer *a)
{
    failure_answer(a->code, a->err_code, a->outcome == SUBMIT_BUSY ? a->retry_after_ms : -1);
    switch (a->outcome) {
    case SUBMIT_BUSY:
        return say(CLI_BUSY, "%s", a->description);
    case SUBMIT_REFUSED:
        return say_refused(nc, f, a);
    case SUBMIT_UNANSWERED:
        return say_unanswered(nc, f, a);
    case SUBMIT_ACCEPTED:
    case SUBMIT_DUPLICATE:
        break;
    }
    return f->wait_ms == 0 ? report_accepted(f, a) : report_end(nc, f, a);
}

int submit_one(natsConnection *nc, const struct submit_flags *f, const char *body, size_t bytes)
{
    natsMsg *msg = submit_message(f, f->key, body, bytes, NULL);
    if (msg == NULL)
        return CLI_USAGE;
    struct submit_answer a;
    offer(nc, f, msg, &a);
    natsMsg_Destroy(msg);
    return report(nc, f, &a);
}
