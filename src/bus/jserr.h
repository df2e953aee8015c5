/* What JetStream's errors mean: every err_code that AX decides on or answers with, and what only
 * the text beside the code tells. Nobody else looks at that text. Pure functions. */
#ifndef AX_BUS_JSERR_H
#define AX_BUS_JSERR_H

#include <stdint.h>

#define JSERR_BAD_REQUEST 10003
#define JSERR_NO_PEERS 10005       /* fewer servers are up than replicas are asked for */
#define JSERR_JS_UNAVAILABLE 10008 /* no leader, or starting: may be stored or not */
#define JSERR_CONSUMER_NOT_FOUND 10014
#define JSERR_INSUFFICIENT_RESOURCES 10023 /* refused for now, certainly not stored */
#define JSERR_NO_MESSAGE 10037
#define JSERR_SEQUENCE_NOT_FOUND 10043 /* of a message to delete */
#define JSERR_STORAGE_EXCEEDED 10047   /* max_bytes is more than the disk has left */
#define JSERR_STREAM_NAME_EXISTS 10058 /* with another configuration */
#define JSERR_STREAM_NOT_FOUND 10059
#define JSERR_WRONG_LAST_SEQ 10071
#define JSERR_REPLICAS_NOT_SUPPORTED 10074 /* a single server */
#define JSERR_STORE_FULL 10077
#define JSERR_HEADERS_TOO_LONG 10097
#define JSERR_CONSUMER_EXISTS 10148
#define JSERR_MSG_ID_IN_PROCESS 10158
#define JSERR_WRONG_LAST_SEQ_INFLIGHT 10164
#define JSERR_TOO_MANY_REQUESTS 10167
#define JSERR_SCHEDULE_PATTERN 10189
#define JSERR_SCHEDULE_ZONE 10223

/* Which bound a stream has reached that refuses with JSERR_STORE_FULL. */
enum jserr_full { JSERR_FULL_UNKNOWN, JSERR_FULL_MESSAGES, JSERR_FULL_BYTES, JSERR_FULL_SUBJECT };

/* The server answers all three with the same err_code; only its text ("maximum messages exceeded",
 * "maximum bytes exceeded", "maximum messages per subject exceeded") tells them apart. */
enum jserr_full jserr_full_of(const char *description);

/* The sequence that is the last on the subject, of JSERR_WRONG_LAST_SEQ: the server has no field
 * for it and writes it at the end of the text ("wrong last sequence: 42"). 0: not told. */
uint64_t jserr_last_sequence(const char *description);

#endif
