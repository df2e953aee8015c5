/* Acknowledgements of `ax work`: each is sent as a request and repeated until the server has
 * confirmed it. Belongs to the loop's thread. */
#ifndef AX_CLI_WORK_ACKS_H
#define AX_CLI_WORK_ACKS_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#define ACKS_PAYLOAD_MAX 300

struct ack_pending;

/* Zero-initialise, then set nc and inbox. */
struct acks {
    natsConnection *nc;       /* borrowed */
    const char *inbox;        /* borrowed; confirmations arrive on <inbox>.ack.<number> */
    struct ack_pending *list; /* not confirmed yet */
    uint64_t numbers;         /* the last number given */
    int count;                /* of the list */
};

/* Both texts are copied. payload: "+ACK", "-NAK", "+TERM reason", … shorter than ACKS_PAYLOAD_MAX.
 * Out of memory: it is sent once and not repeated. */
void acks_send(struct acks *a, const char *ack_subject, const char *payload);
/* The server has confirmed the ack of this number. */
void acks_confirmed(struct acks *a, uint64_t number);
/* Sends again what is due, and gives up what was never confirmed; all: everything at once, after a
 * reconnect. */
void acks_repeat(struct acks *a, bool all);
/* When to call acks_repeat next (clock_now_ms); INT64_MAX: nothing is pending. */
int64_t acks_due_ms(const struct acks *a);
/* Forgets those that are pending; a may be used again. */
void acks_free(struct acks *a);

#endif
