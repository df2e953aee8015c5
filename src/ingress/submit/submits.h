/* All submissions of this ingress: those in flight, and those of them that wait for something. Lock
 * of the loop held in every call. */
#ifndef AX_INGRESS_SUBMIT_SUBMITS_H
#define AX_INGRESS_SUBMIT_SUBMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define SUBMITS_RETRY_MS 1000

struct ingress;
struct submission;
struct submits;

/* What a submission waits for. Each of them ends with the event RESUME. */
enum submits_wait {
    SUBMITS_DEFERRED, /* room in the pipeline */
    SUBMITS_BRIEF,    /* something in this process: 10 ms */
    SUBMITS_RETRY,    /* an answer of JetStream: SUBMITS_RETRY_MS, or a reconnect */
    SUBMITS_WAITS
};

ax_err submits_new(struct submits **out, struct ingress *ing);
/* Submissions in flight. */
int submits_in_flight(const struct submits *ss);
/* As many submissions that want an answer are in flight as may be; what others take is bounded in
 * bytes only (door/account.h). */
bool submits_are_full(const struct submits *ss);
/* After a reconnect: what waits for JetStream tries at once. */
void submits_retry(struct submits *ss);

/* A zeroed submission, in flight. NULL: no memory. */
struct submission *submits_add(struct submits *ss);
/* So many more of those in flight have nobody to tell; fewer when negative. */
void submits_count_silent(struct submits *ss, int more);
/* No longer in flight; s is gone. */
void submits_remove(struct submits *ss, struct submission *s);
/* s, which waits for nothing yet, waits. */
void submits_wait(struct submits *ss, struct submission *s, enum submits_wait wait);

#endif
