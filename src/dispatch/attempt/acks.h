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
 * stored_ns. */
void acks_on_ack(struct pool *p, uint64_t work_seq, int64_t stored_ns, const struct ack_payload *a);
/* The server gave up on w (max deliveries advisory): ack_wait has passed in silence, or the worker
 * said nak. */
void acks_on_max_deliveries(struct pool *p, uint64_t work_seq);
/* Remembers a superseded hand-off, so that its late ack is honoured (rule 5). */
void acks_remember_superseded(struct pool *p, const struct attempt *r);
void acks_honour(struct pool *p, const struct superseded_ack *l);
/* Its retry is on its way, and may be looked up before the record is stored. */
void acks_remember_unrecorded(struct pool *p, const struct superseded_ack *l);
/* True: a late ack of this task was heard a moment ago, of this attempt. */
bool acks_was_acked(struct pool *p, const char *id, uint32_t *attempt, uint64_t *work_seq);
/* AX_WORK was recreated: what was kept by its sequences is void. */
void acks_forget_sequences(struct pool *p);
/* A task was cancelled: its key is free, and an ack of one of its attempts must not take it. */
void acks_forget_task(struct pool *p, const char *id);
/* The pool is given up: acks whose record was not stored yet are kept for the case that we lead
 * again, and told to the others; and what is with workers is remembered: an ack of it that we hear
 * is recorded, whoever leads. */
void acks_keep(struct pool *p);
/* ax.acked.<pool>: another dispatcher gave the pool up, and had heard these. */
void acks_on_unrecorded(struct pool *p, const void *data, size_t bytes);
/* A hand-off got its sequence, or was adopted: was its receipt heard before? */
void acks_take_pending(struct pool *p, struct attempt *r);

#endif
