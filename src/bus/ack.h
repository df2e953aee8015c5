/* JetStream ack subjects and ack payloads, both forms of subject:
 *   $JS.ACK.<stream>.<consumer>.<delivered>.<sseq>.<cseq>.<ts>.<pending>
 *   9 tokens
 *   $JS.ACK.<domain>.<account
 *   hash>.<stream>.<consumer>.<delivered>.<sseq>.<cseq>.<ts>.<pending>[.<r>] 11 or more
 * A parser of foreign input: never trusts a length. Pure functions. */
#ifndef AX_BUS_ACK_H
#define AX_BUS_ACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

enum ack_kind { ACK_ACK, ACK_NAK, ACK_TERM, ACK_PROGRESS, ACK_NEXT, ACK_UNKNOWN };
struct ack_payload {
    enum ack_kind kind;
    int64_t delay_ms; /* ACK_NAK: the delay asked for, rounded up; -1: none given */
    char reason[256]; /* ACK_TERM: reason, cut, control characters replaced; "" if none */
    /* ACK_NEXT: pull request that follows "+NXT" (borrowed from data), may be "" */
    const char *next;
    size_t next_bytes;
};
/* Takes an ack's payload apart as nats-server does ("" and "+ACK" and "+OK" ack; "-NAK[
 * {"delay":ns}]"; "+TERM[ reason]"; "+WPI"; "+NXT[ request]"). Anything else: ACK_UNKNOWN. data may
 * be NULL when bytes is 0. */
void ack_parse_payload(const char *data, size_t bytes, struct ack_payload *out);

/* A pull request ($JS.API.CONSUMER.MSG.NEXT payload): "" (= batch 1), a bare number, or JSON
 * {"batch":n,"expires":ns,"no_wait":bool,"max_bytes":n,"idle_heartbeat":ns, …}. */
struct pull_request {
    int64_t batch;      /* at least 1 */
    int64_t expires_ns; /* 0: does not expire */
    bool no_wait;
};
/* False: the server will refuse it too. */
bool pull_parse(const char *data, size_t bytes, struct pull_request *out);

/* The pool in "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.<pool>" (with or without a domain prefix
 * "$JS.<domain>.API"); false if it is none. */
bool pull_parse_subject(const char *subject, char pool[33]);

#endif
