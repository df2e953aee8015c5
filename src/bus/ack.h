/* JetStream's ack subjects and ack payloads. A subject has one of two forms:
 *
 *   $JS.ACK.<stream>.<consumer>.<delivered>.<sseq>.<cseq>.<ts>.<pending>
 *   $JS.ACK.<domain>.<account
 * hash>.<stream>.<consumer>.<delivered>.<sseq>.<cseq>.<ts>.<pending>[.…]
 *
 * A domain does not begin with "AX_": such a subject would have both forms.
 *
 * A parser of foreign input: never trusts a length. Pure functions, but for
 * ack_send_nak. */
#ifndef AX_BUS_ACK_H
#define AX_BUS_ACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bus/wire.h"

#define ACK_STREAM_MAX 64

struct ack_subject {
    char stream[ACK_STREAM_MAX]; /* longer names are not ours: parse fails */
    char consumer[ACK_STREAM_MAX];
    uint64_t delivered; /* 1 = first delivery */
    uint64_t stream_seq;
    uint64_t consumer_seq;
    int64_t timestamp_ns; /* when the server stored the message */
    uint64_t pending;     /* messages still to deliver after this one */
};
/* False: not an ack subject. */
bool ack_parse_subject(const char *subject, struct ack_subject *out);
/* The same, and true only for a message that this consumer of this stream has delivered. An ack may
 * be published there: without this a message or a header of somebody else's could have any subject
 * published to, or another pool's message acked. */
bool ack_parse_subject_of(const char *subject, const char *stream, const char *consumer,
                          struct ack_subject *out);

enum ack_kind { ACK_ACK, ACK_NAK, ACK_TERM, ACK_PROGRESS, ACK_NEXT, ACK_UNKNOWN };
struct ack_payload {
    enum ack_kind kind;
    /* ACK_NAK: the delay asked for, rounded up, at most TASK_DELAY_MAX_MS; negative ones are 0, as
     * for nats-server; -1: none given */
    int64_t delay_ms;
    bool given_back;  /* ACK_NAK: the task has not failed, its worker could not run it */
    char reason[256]; /* ACK_TERM: reason, cut, control characters replaced; "" if none */
    /* ACK_NEXT: pull request that follows "+NXT" (borrowed from data), may be "" */
    const char *next;
    size_t next_bytes;
};
/* Takes an ack's payload apart as nats-server does ("" and "+ACK" and "+OK" ack; "-NAK[
 * {"delay":ns}]"; "+TERM[ reason]"; "+WPI"; "+NXT[ request]"). "given_back" beside "delay" is
 * AX's own; without a delay it asks for none. Anything else: ACK_UNKNOWN. data may
 * be NULL when bytes is 0. */
void ack_parse_payload(const char *data, size_t bytes, struct ack_payload *out);

/* What AX itself sends. */
#define ACK_TEXT_ACK "+ACK"
#define ACK_TEXT_NAK "-NAK" /* redelivered at once */
#define ACK_TEXT_PROGRESS "+WPI"
/* A nak of what has not failed, which is due at once. */
#define ACK_TEXT_GIVEN_BACK "-NAK {\"delay\":1000000,\"given_back\":true}"
/* A nak after which the message is redelivered delay_ms (above 0) later, into buf. Returns buf. */
#define ACK_NAK_MAX 48
const char *ack_nak(int64_t delay_ms, char buf[ACK_NAK_MAX]);
/* Publishes one; delay_ms 0: redelivered at once. subject: the message's ack subject. A nak that is
 * lost leaves the message to its ack wait: errors are not looked at. */
void ack_send_nak(struct wire *w, const char *subject, int64_t delay_ms);

#endif
