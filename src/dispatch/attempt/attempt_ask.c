#include "dispatch/attempt/attempt_ask.h"
#include "bus/ack.h"

#include "bus/pipeline_get.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/attempt/terminations.h"
#include "dispatch/dispatch.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/pool/pool.h"
#include "done/record_find.h"

/* True: its answer may be handled. False: it was abandoned, and is forgotten now. */
static bool is_wanted(struct attempt *a)
{
    a->ask.pending = false;
    if (!a->abandoned)
        return true;
    attempt_forget(a);
    return false;
}

static bool asked(struct attempt *a, ax_err err)
{
    a->ask.pending = err == AX_OK;
    return err == AX_OK;
}

static void on_found(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *a = arg;
    if (is_wanted(a))
        a->ask.cb.found(a, err, found);
}

bool attempt_ask_message(struct attempt *a, const char *stream, const char *subject, uint64_t seq,
                         void (*cb)(struct attempt *, ax_err, const struct stored_msg *))
{
    a->ask.cb.found = cb;
    return asked(a, pipeline_get(a->pool->dispatch->pipeline, stream, subject, seq,
                                 ATTEMPT_ASK_WAIT_MS, on_found, a));
}

bool attempt_ask_dead_letter(struct attempt *a,
                             void (*cb)(struct attempt *, ax_err, const struct stored_msg *))
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject_dead(subject, a->pool->name, a->task.id);
    return attempt_ask_message(a, STREAM_DEAD, subject, 0, cb);
}

static void on_record(void *arg, ax_err err, const struct record *rec, uint64_t seq)
{
    struct attempt *a = arg;
    if (is_wanted(a))
        a->ask.cb.record(a, err, rec, seq);
}

bool attempt_ask_record(struct attempt *a,
                        void (*cb)(struct attempt *, ax_err, const struct record *, uint64_t))
{
    struct dispatch *d = a->pool->dispatch;
    const struct batch_index *batches = name_is_keyed(a->task.id) ? d->done.batches
                                                                  : d->done.recent;
    a->ask.cb.record = cb;
    return asked(a,
                 record_find(d->pipeline, batches, a->task.id, ATTEMPT_ASK_WAIT_MS, on_record, a));
}

static void on_consumer(void *arg, ax_err err, const struct consumer_info *info)
{
    struct attempt *a = arg;
    if (is_wanted(a))
        a->ask.cb.consumer(a, err, info);
}

bool attempt_ask_consumer(struct attempt *a,
                          void (*cb)(struct attempt *, ax_err, const struct consumer_info *))
{
    struct dispatch *d = a->pool->dispatch;
    a->ask.cb.consumer = cb;
    return asked(a, consumer_info_get(d->pipeline, d->loop, STREAM_WORK, a->pool->name,
                                      ATTEMPT_ASK_WAIT_MS, on_consumer, a));
}

static void on_stream(void *arg, ax_err err, const struct stream_info *info)
{
    struct attempt *a = arg;
    if (is_wanted(a))
        a->ask.cb.stream(a, err, info);
}

bool attempt_ask_stream(struct attempt *a,
                        void (*cb)(struct attempt *, ax_err, const struct stream_info *))
{
    struct dispatch *d = a->pool->dispatch;
    a->ask.cb.stream = cb;
    return asked(
        a, stream_info_get(d->pipeline, d->loop, STREAM_WORK, ATTEMPT_ASK_WAIT_MS, on_stream, a));
}

static void on_caught_up(void *arg)
{
    struct attempt *a = arg;
    if (is_wanted(a))
        a->ask.cb.caught_up(a);
}

bool attempt_ask_catch_up(struct attempt *a, void (*cb)(struct attempt *))
{
    a->ask.cb.caught_up = cb;
    return asked(a, catch_up_when_done(a->pool->dispatch, on_caught_up, a));
}

bool attempt_ask_termination(struct attempt *a, void (*cb)(struct attempt *, bool, const char *))
{
    a->ask.cb.termination = cb;
    a->ask.pending = true; /* where AX_EVENTS cannot be read it may be answered at once */
    bool ok = terminations_ask(a);
    if (!ok)
        a->ask.pending = false;
    return ok;
}

void attempt_ask_terminated(struct attempt *a, bool known, const char *reason)
{
    if (is_wanted(a))
        a->ask.cb.termination(a, known, reason);
}

static void on_answer(void *arg, const struct answer *answer)
{
    struct attempt *a = arg;
    if (is_wanted(a))
        a->ask.cb.answer(a, answer);
}

/* Apart from on_answer, so that attempt_ask_give_up finds the publishes that must not be repeated.
 */
static void on_published(void *arg, const struct answer *answer)
{
    on_answer(arg, answer);
}

ax_err attempt_ask_publish(struct attempt *a, const char *reply, natsMsg *msg,
                           void (*cb)(struct attempt *, const struct answer *))
{
    a->ask.cb.answer = cb;
    ax_err err = pipeline_publish(a->pool->dispatch->pipeline, reply, msg, 0, on_published, a);
    asked(a, err);
    return err;
}

void attempt_ask_give_up(struct dispatch *d)
{
    pipeline_give_up(d->pipeline, on_published, attempt_is_abandoned);
}

bool attempt_ask_release(struct attempt *a, void (*cb)(struct attempt *, const struct answer *))
{
    a->ask.cb.answer = cb;
    return asked(a, pipeline_request(a->pool->dispatch->pipeline, a->lease.subject, ACK_TEXT_ACK,
                                     strlen(ACK_TEXT_ACK), ATTEMPT_ASK_WAIT_MS, on_answer, a));
}

bool attempt_ask_recording(struct attempt *a, void (*cb)(struct attempt *, const struct answer *))
{
    a->ask.cb.answer = cb;
    a->ask.pending = true; /* a batch that cannot be sent answers at once */
    ax_err err = record_writer_write_done(a->pool, a->task.id,
                                          &(struct record){.attempt = a->end.attempt,
                                                           .fence = a->end.fence,
                                                           .submitted = a->task.submitted},
                                          on_answer, a);
    if (err != AX_OK)
        a->ask.pending = false;
    return err == AX_OK;
}
