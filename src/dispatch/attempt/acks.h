/* What workers say of their attempts: acks on their way to the attempts they are for. Three kinds
 * are kept apart, all of them hints: pending acks (heard before their attempt is known), acks of
 * superseded attempts (rule 5), and acks that are not recorded yet. Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_ACKS_H
#define AX_DISPATCH_ATTEMPT_ACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/ack.h"
#include "task/names.h"

struct attempt;
struct attempt_news;
struct pool;

/* Acks of hand-offs whose PubAck is still on its way, or heard while another dispatcher leads
 * or none does; superseded attempts whose ack may still come. */
struct pending_ack {
    uint64_t work_seq;
    struct ack_payload payload;
    UT_hash_handle hh;
};
#define SUPERSEDED_MAX 4096
struct superseded_ack {
    uint64_t work_seq;
    char id[TASK_ID_CHARS + 1];
    uint32_t attempt;
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
    struct pending_ack *pending;
    struct superseded_ack *superseded;
    struct unrecorded_ack *unrecorded;
};

/* A worker's ack of any kind for AX_WORK sequence work_seq, which the server had stored at
 * stored_ns. ack: borrowed. */
void acks_on_ack(struct pool *p, uint64_t work_seq, int64_t stored_ns,
                 const struct ack_payload *ack);
/* The server gave up on a hand-off (max deliveries advisory): ack wait has passed in silence, or
 * the worker said nak. */
void acks_on_max_deliveries(struct pool *p, uint64_t work_seq);
/* ax.acked.<pool>: another dispatcher gave the pool up, and had heard these. Borrowed. */
void acks_on_unrecorded(struct pool *p, const void *data, size_t bytes);

/* An ack of this attempt was heard before it could be handled. */
bool acks_are_pending(const struct attempt *a);
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
