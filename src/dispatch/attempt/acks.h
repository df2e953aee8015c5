/* What workers say of their attempts: acks on their way to the attempts they are for. Whoever may
 * ack in a pool can name any hand-off of it, so an ack counts only where it fits that hand-off
 * (hand_off_time.h). Three kinds are kept apart, all of them hints: pending acks (heard before
 * their attempt is known), acks of superseded attempts (rule 5), and acks that are not recorded
 * yet. Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_ACKS_H
#define AX_DISPATCH_ATTEMPT_ACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/ack.h"
#include "dispatch/attempt/hand_off_time.h"
#include "dispatch/attempt/pending_acks.h"
#include "task/names.h"

struct attempt;
struct attempt_news;
struct pool;

/* A superseded attempt whose ack may still come. */
#define SUPERSEDED_MAX 4096
struct superseded_ack {
    uint64_t work_seq;
    struct hand_off_time time;
    char id[TASK_ID_CHARS + 1];
    uint32_t attempt;
    int64_t submitted;
    int64_t handed_ns, heard_ns; /* as in struct attempt */
    UT_hash_handle hh;           /* in order of insertion: the oldest goes first */
};

/* A late ack that was heard, whose record may not be stored yet. */
struct unrecorded_ack {
    char id[TASK_ID_CHARS + 1];
    uint32_t attempt;
    uint64_t work_seq;
    int64_t heard_ns;
    UT_hash_handle hh;
};

/* Of a pool; zero-initialise. acks.c. */
struct pool_acks {
    struct pending_acks pending;
    struct superseded_ack *superseded;
    struct unrecorded_ack *unrecorded;
    uint64_t last_seq;      /* no hand-off of the pool that is known has a higher one */
    int64_t doubt_until_ns; /* monotonic: acks are being forged, as far as one can tell */
};

/* An ack of any kind was heard: the subject and the payload of its message, borrowed. One that fits
 * no hand-off is counted and changes nothing. */
void acks_on_ack(struct pool *p, const struct ack_subject *subject, const struct ack_payload *ack);
/* The server gave up on a hand-off (max deliveries advisory): ack wait has passed in silence, or
 * the worker said nak. */
void acks_on_max_deliveries(struct pool *p, uint64_t work_seq);
/* ax.acked.<pool>: another dispatcher gave the pool up, and had heard these. Borrowed. */
void acks_on_unrecorded(struct pool *p, const void *data, size_t bytes);

/* An ack of this attempt was heard before it could be handled. */
bool acks_are_pending(const struct attempt *a);
/* The facts of attempt_moves.h that are known here, of those needed. news: of the event. */
unsigned acks_facts(const struct attempt *a, unsigned needed, const struct attempt_news *news);
/* Its hand-off (hand_off.seq, hand_off.time) is known from now on, made by this dispatcher: while
 * acks are being forged, only its exact time counts. */
void acks_on_hand_off(struct attempt *a);
/* More is known of its hand-off: counts those acks heard before that cannot be meant for it. */
void acks_refuse_misfits(struct attempt *a);
/* The highest sequence that any hand-off of the pool can have by now. */
void acks_note_seq(struct pool *p, uint64_t work_seq);
/* Called now and then: forgets pending acks that are too old. */
void acks_expire(struct pool *p);
/* An ack of this task that was heard a moment ago and may not be recorded yet; NULL: none.
 * Borrowed. */
const struct unrecorded_ack *acks_find_unrecorded(const struct pool *p, const char *id);

/* If there is one, *news says that the attempt is done as that ack says. False: there is none. */
bool acks_news_of_unrecorded(const struct attempt *a, struct attempt_news *news);

/* Actions of attempt_moves.h. acks_supersede's news may be NULL. */
void acks_keep_pending(struct attempt *a, const struct attempt_news *news);
void acks_take_pending(struct attempt *a, const struct attempt_news *news);
void acks_honour_ending(struct attempt *a, const struct attempt_news *news);
void acks_supersede(struct attempt *a, const struct attempt_news *news);

/* The pool is given up: acks whose record is not stored yet are kept for the case that this
 * dispatcher leads again, and published for the others; and what is with workers is remembered: an
 * ack of it that is heard is recorded, whoever leads. */
void acks_keep(struct pool *p);
/* AX_WORK was recreated: what was kept by its sequences is void. */
void acks_forget_sequences(struct pool *p);
/* A task was cancelled: its key is free, and an ack of one of its attempts must not take it. */
void acks_forget_task(struct pool *p, const char *id);

#endif
