#include "ingress/submit/submission_ask.h"

#include <string.h>

#include "base/log.h"
#include "ingress/key_index.h"

#define GET_WAIT_MS 3000
#define ROOM_FOR_OTHERS 1024 /* pipeline slots that submissions leave to feeders and readers */

static bool has_room(const struct submission *s)
{
    return pipeline_room(s->ing->pipe) > ROOM_FOR_OTHERS;
}

/* err: of asking. */
static void asked(struct submission *s, ax_err err)
{
    struct verdict v;
    s->question.asked = err == AX_OK;
    if (err == AX_OK)
        return;
    if (err == AX_E_BUSY) {
        submission_event(s, SUBMISSION_NO_ROOM);
        return;
    }
    if (s->facts.state == SUBMISSION_BURY)
        log_error("dead letter cannot be made", "error=\"%s\"", ax_err_text(err));
    if (err == AX_E_TOO_LONG || err == AX_E_INVALID) {
        answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0, "cannot be stored: %s", ax_err_text(err));
        submission_refuse(s, REFUSED_SERVER, &v);
    } else {
        submission_event(s, SUBMISSION_NO_ANSWER);
    }
}

/* An answer came: is somebody there to hear it? */
static bool is_heard(struct submission *s)
{
    s->question.asked = false;
    if (s->facts.state != SUBMISSION_ENDED)
        return true;
    submission_free(s);
    return false;
}

static void on_found(void *arg, ax_err err, const struct stored_msg *found)
{
    struct submission *s = arg;
    if (is_heard(s))
        s->question.then.found(s, err, found);
}

static void on_record(void *arg, ax_err err, const struct record *r, uint64_t seq)
{
    struct submission *s = arg;
    if (is_heard(s))
        s->question.then.record(s, err, r, seq);
}

static void on_answer(void *arg, const struct answer *a)
{
    struct submission *s = arg;
    if (is_heard(s))
        s->question.then.answer(s, a);
}

void submission_ask_get(struct submission *s, const char *stream, const char *subject, uint64_t seq,
                        void (*then)(struct submission *, ax_err, const struct stored_msg *))
{
    s->question.then.found = then;
    asked(s, has_room(s)
                 ? pipeline_get(s->ing->pipe, stream, subject, seq, GET_WAIT_MS, on_found, s)
                 : AX_E_BUSY);
}

void submission_ask_record(struct submission *s, void (*then)(struct submission *, ax_err,
                                                              const struct record *, uint64_t))
{
    s->question.then.record = then;
    asked(s, has_room(s)
                 ? key_index_find_record(s->ing->key_index, s->task.id, GET_WAIT_MS, on_record, s)
                 : AX_E_BUSY);
}

void submission_ask_request(struct submission *s, const char *subject, const char *payload,
                            void (*then)(struct submission *, const struct answer *))
{
    s->question.then.answer = then;
    asked(s, has_room(s) ? pipeline_request(s->ing->pipe, subject, payload, strlen(payload),
                                            GET_WAIT_MS, on_answer, s)
                         : AX_E_BUSY);
}

bool submission_ask_reserve(struct submission *s, char reply[PIPELINE_REPLY_MAX])
{
    ax_err err = has_room(s) ? pipeline_reserve(s->ing->pipe, reply) : AX_E_BUSY;
    if (err != AX_OK)
        asked(s, err);
    return err == AX_OK;
}

void submission_ask_publish(struct submission *s, const char *reply, natsMsg *msg,
                            void (*then)(struct submission *, const struct answer *))
{
    s->question.then.answer = then;
    asked(s, pipeline_publish(s->ing->pipe, reply, msg, 0, on_answer, s));
}
