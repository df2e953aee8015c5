/* A task: what a producer submitted, checked; or what one of AX's own streams holds. task_submit.h,
 * task_proto.h and task_stored.h read it, task_to_msg writes it. Pure functions over nats.c's
 * message objects.
 *
 * Pointers inside a struct task are borrowed from the message or protobuf it was read from,
 * which must live as long as the task. The task owns only the array of pass-through headers,
 * which task_clear frees. */
#ifndef AX_TASK_TASK_H
#define AX_TASK_TASK_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

#define TASK_MAX_RETRY_DEFAULT 3
#define TASK_MAX_RETRY_LIMIT 1000
#define TASK_DELAY_MAX_MS (365LL * 24 * 3600 * 1000)
#define TASK_BACKOFF_MIN_MS 1
#define TASK_BACKOFF_MAX_MS 3600000
#define TASK_TIMEOUT_MIN_MS 1000
#define TASK_TIMEOUT_MAX_MS (24LL * 3600 * 1000)
#define TASK_HEADERS_MAX 128 /* pass-through header values */
#define TASK_BATCH_MAX 1000  /* tasks of a batch: its answer must fit into a message, too */
/* Room that AX keeps in a message for headers of its own, beside key, group and pass-through
 * headers: lease, message id, schedule, attempt, reason … at their longest. A task whose body
 * and headers leave less than this of max_payload is refused. */
#define TASK_RESERVE_BYTES 2048
/* What JetStream stores of headers, AX's own included, whatever max_payload is. */
#define TASK_HEADERS_MAX_BYTES 65535

/* What a firing of a recurring task does while the last one is unfinished. */
enum task_overlap {
    TASK_OVERLAP_DEFAULT /* not given: skip */,
    TASK_OVERLAP_SKIP,
    TASK_OVERLAP_QUEUE
};

struct task_header {
    const char *name;
    const char *value;
};

struct task {
    char id[TASK_ID_CHARS + 1];
    char priority[NAME_MAX_CHARS + 1];
    char pool[NAME_MAX_CHARS + 1];
    const char *key;   /* NUL-terminated; NULL: keyless */
    const char *group; /* tasks of a group share limits and turns; NULL: none */
    /* one at a time with the other ordered tasks of its group, in order of acceptance */
    bool ordered;
    uint32_t attempt;    /* 1… */
    uint32_t timeouts;   /* earlier attempts that ended in silence */
    uint32_t given_back; /* earlier attempts that no worker has run: they are not its failures */
    int32_t max_retry;   /* retries after the first attempt; -1: not given (the pool's default) */
    int64_t backoff_ms;  /* base; 0: not given (the pool's default) */
    int64_t timeout_ms;  /* limit of a whole attempt; 0: none */
    int64_t submitted;   /* HLC stamp (clock_stamp), 0: not known */
    uint64_t retried;    /* sequence of the dead letter that it was brought back from; 0: none */
    int64_t expires_ns;  /* AX time; 0: none */
    /* submit only: Ax-Expires given as a duration from now; the caller, who has the clock, turns it
     * into expires_ns; 0: none */
    int64_t expires_in_ms;
    int64_t delay_ms; /* submit only; -1: none */
    int64_t at_ns;    /* submit only, AX time; 0: none */
    /* A schedule: in a submission, in ax.later and ax.due; never in a task that runs. */
    const char *cron;      /* NULL: none */
    const char *time_zone; /* NULL: none */
    enum task_overlap overlap;
    const void *body;
    size_t body_bytes;
    struct task_header *headers; /* pass-through, owned array; names and values borrowed */
    size_t header_count;
};

/* A task of which nothing is given. */
#define TASK_NONE {.attempt = 1, .max_retry = -1, .delay_ms = -1}
void task_init(struct task *t);

/* Gives the task its id: from pool and key, or a fresh one. */
void task_give_id(struct task *t);

/* Frees what the task owns. Safe on a zeroed task and twice. */
void task_clear(struct task *t);
/* The same, and forgets all that is borrowed from the message, which can be destroyed then.
 * Names, numbers and times stay. */
void task_drop_content(struct task *t);

/* Did a producer submit the same thing twice? Compares priority, body, pass-through headers and all
 * of AX's headers that a producer gives, not what AX has set since. */
bool task_is_same(const struct task *a, const struct task *b);

/* Does the task fit into max_payload with all that AX adds at any stage? AX_E_TOO_LONG: p gives
 * the size and the limit. */
ax_err task_check_size(const struct task *t, int64_t max_payload_bytes, struct problem *p);
/* Its headers leave room for those that AX adds. */
bool task_headers_fit(const struct task *t);

/* A new message on subject (reply may be NULL) with the task's body, its pass-through headers and
 * the headers that its stage carries (task/header_table.h). The caller adds the stage's own with
 * header_set and owns *out. */
ax_err task_to_msg(const struct task *t, const char *subject, const char *reply, natsMsg **out);

#endif
