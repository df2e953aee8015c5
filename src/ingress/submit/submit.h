/* One submission, from message to answer: a small state machine, each step an asynchronous question
 * to JetStream (docs/design/submitting.md). Lock held in every call. */
#ifndef AX_INGRESS_SUBMIT_SUBMIT_H
#define AX_INGRESS_SUBMIT_SUBMIT_H

#include <nats/nats.h>
#include <stddef.h>
#include <stdint.h>

#include "ingress/counters.h"
#include "ingress/ingress.h"
#include "ingress/submit/answer.h"
#include "task/task.h"

struct batch;
struct queue;

struct submit {
    struct submit *prev, *next; /* everything in the works, oldest first */
    struct submit *deferred_next;
    struct ingress *ing;
    struct queue *queue;
    natsMsg *msg;      /* NULL: the task belongs to a batch */
    int64_t bytes;     /* of msg's body, counted in what is in the works */
    const char *reply; /* borrowed from msg; NULL: nobody to tell */
    struct batch *batch;
    size_t index;   /* in the batch */
    void *unpacked; /* protobuf that the task borrows from */
    struct task task;
    /* what to do next; repeated as it stands when it found no room */
    void (*step)(struct submit *s);
    int64_t since_ns;
    int64_t due_ns;  /* AX time; 0: now */
    unsigned places; /* KNOWN_…: where to look yet */
    unsigned place;  /* being looked at */
    bool answered;
    /* its record was asked for before all of them were known: "none" means nothing */
    bool unsure;
    bool looked;  /* in the queue, before going to AX_LATER or AX_SPILL */
    int rounds;   /* times a task that was there was gone again */
    uint64_t seq; /* of the task found in the queue; recurring: of the schedule */
    /* recurring: sequence of the schedule under another priority that is being removed; 0: none */
    uint64_t replaced;
    bool same;    /* recurring: it was there already, just like this */
    bool paused;  /* recurring: the one it replaces was */
    char *reason; /* dead letter: why (owned) */
};

ax_err submits_new(struct submits **out, struct ingress *ing);
/* Submissions in the works. */
int submits_in_flight(const struct submits *ss);
/* After a reconnect: what waits tries at once. */
void submits_retry(struct submits *ss);

/* A message of ax.submit.… (taken). */
void submit_take(struct ingress *ing, natsMsg *msg);

/* For submit_steps.c. What a step ends with: */
void submit_defer(struct submit *s); /* no room in the pipeline: s->step again when there is */
void submit_again(struct submit *s); /* JetStream did not answer: s->step again in a second, or
                                        after a reconnect */
void submit_wait(
    struct submit *s); /* s->step again in a moment: it waits for something in this process */
void submit_taken(struct submit *s, const char *stream, uint64_t seq);
void submit_known(struct submit *s, const char *stream, uint64_t seq, enum state state);
void submit_reject(struct submit *s, enum refusal why, const struct verdict *v);
void submit_ended(struct submit *s); /* nothing more to say: its dead letter is stored */
bool submit_has_room(const struct submit *s);

/* For batch.c: a blank submission; then either its task is set and it starts, or it is refused. */
struct submit *submit_new(struct ingress *ing);
void submit_start(struct submit *s);
/* Its task could not be read; the subject may still name the pool. */
void submit_refuse_unread(struct submit *s, const char *subject, const struct problem *p);
void submit_refuse(struct submit *s, enum refusal why, const struct problem *p);

#endif
