/* Names on the wire: subjects, streams, headers, task ids; building them and taking them apart.
 * Pure functions. */
#ifndef AX_TASK_NAMES_H
#define AX_TASK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define NAME_MAX_CHARS 32     /* pool and priority: [A-Za-z0-9_-]{1,32} */
#define TASK_ID_CHARS 32      /* keyed: 32 hex digits; keyless: 22 characters. Never longer */
#define KEYLESS_ID_CHARS 22   /* ids of tasks without a key */
#define KEY_MAX_BYTES 512     /* business key */
#define GROUP_MAX_BYTES 64    /* group of a task, such as its tenant */
#define SUBJECT_MAX_CHARS 160 /* longest subject AX itself builds, NUL included */

#define SUBMIT_PREFIX "ax.submit."
#define SUBMIT_ANY "ax.submit" /* protobuf only: each task names its priority and pool */
#define CANCEL_PREFIX "ax.cancel."
#define RECORD_PREFIX "ax.record."
/* Body of a query on STATS_SUBJECT. */
#define STATS_ASK_SCHEDULES "schedules"
#define STATS_SUBJECT "ax.figures"
#define DEFAULT_POOL "default"

#define STREAM_WORK "AX_WORK"
#define STREAM_LATER "AX_LATER"
#define STREAM_SPILL "AX_SPILL"
#define STREAM_DEAD "AX_DEAD"
#define STREAM_EVENTS "AX_EVENTS"
#define STREAM_DONE "KV_AX_DONE"
#define STREAM_POOLS "KV_AX_POOLS"
#define STREAM_LEASES "KV_AX_LEASES"
#define DONE_PREFIX "$KV.AX_DONE."
#define POOLS_PREFIX "$KV.AX_POOLS."
#define LEASES_PREFIX "$KV.AX_LEASES."
#define DISPATCHERS_PREFIX LEASES_PREFIX "dispatcher."

#define HDR_MSG_ID "Nats-Msg-Id"
#define HDR_EXPECT_SUBJECT_SEQ "Nats-Expected-Last-Subject-Sequence"
#define HDR_EXPECT_STREAM "Nats-Expected-Stream"
#define HDR_TTL "Nats-TTL"
#define HDR_SCHEDULE "Nats-Schedule"
#define HDR_SCHEDULE_TARGET "Nats-Schedule-Target"
#define HDR_SCHEDULE_ZONE "Nats-Schedule-Time-Zone"
/* On a message that fell due: when its recurring schedule fires next. */
#define HDR_SCHEDULE_NEXT "Nats-Schedule-Next"
#define HDR_TASK "Ax-Task"
#define HDR_KEY "Ax-Key"
#define HDR_PRIORITY "Ax-Priority"
#define HDR_ATTEMPT "Ax-Attempt"
#define HDR_TIMEOUTS "Ax-Timeouts"     /* attempts that ended in silence so far; absent = 0 */
#define HDR_GIVEN_BACK "Ax-Given-Back" /* attempts that no worker has run; absent = 0 */
#define HDR_MAX_RETRY "Ax-Max-Retry"
#define HDR_BACKOFF "Ax-Backoff"
#define HDR_SUBMITTED "Ax-Submitted"
#define HDR_EXPIRES "Ax-Expires"
#define HDR_DELAY "Ax-Delay"
#define HDR_AT "Ax-At"
#define HDR_CRON "Ax-Cron"
#define HDR_TIME_ZONE "Ax-Time-Zone"
#define HDR_OVERLAP "Ax-Overlap"
#define HDR_PAUSED "Ax-Paused" /* 1: a recurring task that an operator has stopped for now */
#define HDR_TIMEOUT "Ax-Timeout"
#define HDR_GROUP "Ax-Group"
#define HDR_ORDERED "Ax-Ordered"
#define HDR_LEASE "Ax-Lease" /* hand-off: ack subject of the queue message */
#define HDR_RETRY_AFTER "Ax-Retry-After"
#define HDR_SCHEMA "Ax-Schema"
#define HDR_REASON "Ax-Reason"   /* dead letter: why, one line */
#define HDR_DIED "Ax-Died"       /* dead letter: when, RFC 3339 */
#define HDR_RETRIED "Ax-Retried" /* brought back from AX_DEAD: sequence of the dead letter */

/* [A-Za-z0-9_-]{1,32}, NUL-terminated. */
bool name_is_valid(const char *s);
/* The same for the n bytes at s. */
bool name_is_valid_n(const char *s, size_t n);
/* A task id as AX makes them: [A-Za-z0-9]{1,32}. */
bool name_is_task_id(const char *s);
/* The id of a task with a key (32 hex digits); 22 random characters are that of one without.
 * id: a task id. */
bool name_is_keyed(const char *id);

/* "ax.submit.<priority>[.<pool>]" taken apart. priority and pool get at most NAME_MAX_CHARS + NUL;
 * pool is DEFAULT_POOL where the subject has none. AX_E_INVALID: p says what is wrong (number of
 * tokens, a bad name). */
ax_err name_parse_submit(const char *subject, char priority[NAME_MAX_CHARS + 1],
                         char pool[NAME_MAX_CHARS + 1], struct problem *p);
/* The pool that a subject of submissions names, whatever else is wrong with it; "": none, or no
 * name. */
void name_pool_of_submit(const char *subject, char pool[NAME_MAX_CHARS + 1]);

/* What ax.<stage>.<priority>.<pool>.<id> or ax.<stage>.<pool>.<id> names; priority is "" for the
 * stages without. */
struct task_subject {
    char stage[8]; /* queue, later, due, spill (with priority); work, dead (without) */
    char priority[NAME_MAX_CHARS + 1];
    char pool[NAME_MAX_CHARS + 1];
    char id[TASK_ID_CHARS + 1];
};
/* False: not such a subject. */
bool name_parse_task_subject(const char *subject, struct task_subject *out);

/* Builders: write into out[SUBJECT_MAX_CHARS], return its length. All names must be valid
 * already. */
size_t name_subject(char *out, const char *stage, const char *priority, const char *pool,
                    const char *id);
size_t name_subject_work(char *out, const char *pool, const char *id); /* ax.work.<pool>.<id> */
size_t name_subject_dead(char *out, const char *pool, const char *id); /* ax.dead.<pool>.<id> */

/* Id of a keyed task: first 32 hex digits of SHA-256(pool, 0x00, key). key: key_bytes bytes,
 * any. */
void name_task_id(const char *pool, const void *key, size_t key_bytes, char out[TASK_ID_CHARS + 1]);

/* Id of a keyless task: 22 random characters of 0-9A-Za-z, as in a NUID (131 bits, so none comes
 * twice). Any thread. */
void name_new_id(char out[TASK_ID_CHARS + 1]);

#endif
