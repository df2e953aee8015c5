/* The headers of a task, one row a header. Reading a submission in either form, storing a task,
 * reading it back, adopting it and comparing two schedules all go by these rows: a header that has
 * one cannot be forgotten on the way.
 *
 * A new header needs its name (HDR_… in task/names.h), a field of struct task (task/task.h), a
 * row here, its rule (task/task_rule.c) and, if producers give it, its field in
 * schemas/ax/v1/task.proto. Pure. */
#ifndef AX_TASK_HEADER_TABLE_H
#define AX_TASK_HEADER_TABLE_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "task/task.h"

/* Where a stored task can be. */
enum header_stage {
    HEADER_IN_QUEUE = 1, /* ax.queue and ax.spill */
    HEADER_IN_LATER = 2, /* ax.later and ax.due: the only place of what makes a task recur */
    HEADER_IN_WORK = 4,  /* ax.work: the hand-off */
    HEADER_IN_DEAD = 8,  /* ax.dead */
    /* Workers and operators read these; the other stages are read by AX alone, which has id and
     * priority from the subject. */
    HEADER_FOR_PEOPLE = HEADER_IN_WORK | HEADER_IN_DEAD,
    HEADER_EVERYWHERE = HEADER_IN_QUEUE | HEADER_IN_LATER | HEADER_FOR_PEOPLE,
    HEADER_NOWHERE = 0, /* ingress acts on it, and stores what follows from it */
};

/* How a field of struct task is written as a header. */
enum header_form {
    FORM_TEXT,    /* const char *; NULL: none */
    FORM_NAME,    /* char[NAME_MAX_CHARS + 1]; "": none */
    FORM_BOOL,    /* bool: "true", or none */
    FORM_OVERLAP, /* enum task_overlap */
    /* Numbers: none is what task_init sets, and everything that is given is greater. */
    FORM_INT32,
    FORM_UINT32,
    FORM_INT64,
    FORM_UINT64,   /* at most INT64_MAX */
    FORM_DURATION, /* int64_t milliseconds: "90s", "1500ms" */
    FORM_TIME,     /* int64_t nanoseconds of AX time: RFC 3339 */
};

/* GIVEN(HDR_…, rule and field of ax.v1.Task, field of struct task, form, carried in): what a
 *   producer gives. task_rule_<rule> checks it, and reads it back from where it is carried.
 * OWN(HDR_…, field of struct task, form, carried in, written there even if none): what AX sets. */
#define HEADER_TABLE(GIVEN, OWN)                              \
    GIVEN(KEY, key, key, TEXT, EVERYWHERE)                    \
    GIVEN(DELAY, delay, delay_ms, DURATION, NOWHERE)          \
    GIVEN(AT, at, at_ns, TIME, NOWHERE)                       \
    GIVEN(CRON, cron, cron, TEXT, IN_LATER)                   \
    GIVEN(TIME_ZONE, time_zone, time_zone, TEXT, IN_LATER)    \
    GIVEN(BACKOFF, backoff, backoff_ms, DURATION, EVERYWHERE) \
    GIVEN(EXPIRES, expires, expires_ns, TIME, EVERYWHERE)     \
    GIVEN(MAX_RETRY, max_retry, max_retry, INT32, EVERYWHERE) \
    GIVEN(OVERLAP, overlap, overlap, OVERLAP, IN_LATER)       \
    GIVEN(TIMEOUT, timeout, timeout_ms, DURATION, EVERYWHERE) \
    GIVEN(GROUP, group, group, TEXT, EVERYWHERE)              \
    GIVEN(ORDERED, ordered, ordered, BOOL, EVERYWHERE)        \
    OWN(TASK, id, NAME, FOR_PEOPLE, NOWHERE)                  \
    OWN(PRIORITY, priority, NAME, FOR_PEOPLE, NOWHERE)        \
    OWN(ATTEMPT, attempt, UINT32, EVERYWHERE, FOR_PEOPLE)     \
    OWN(TIMEOUTS, timeouts, UINT32, EVERYWHERE, NOWHERE)      \
    OWN(GIVEN_BACK, given_back, UINT32, EVERYWHERE, NOWHERE)  \
    OWN(SUBMITTED, submitted, INT64, EVERYWHERE, NOWHERE)     \
    OWN(RETRIED, retried, UINT64, EVERYWHERE, NOWHERE)

/* HEADER_KEY, HEADER_DELAY …: the index of each row. */
enum header_id {
#define GIVEN(id, ...) HEADER_##id,
#define OWN(id, ...) HEADER_##id,
    HEADER_TABLE(GIVEN, OWN)
#undef GIVEN
#undef OWN
        HEADER_COUNT
};

/* Checks value and puts it into its field of t. field: its name as the producer knows it, for p.
 * AX_E_INVALID: t is as it was; p (may be NULL) names field, value and what is allowed. */
typedef ax_err header_rule(struct task *t, const char *field, const char *value, struct problem *p);

struct header_row {
    const char *name;   /* of the header */
    const char *member; /* of ax.v1.Task, and in error texts; NULL: AX's own header */
    header_rule *rule;  /* NULL: AX's own header */
    uint16_t offset;    /* of the field in struct task */
    uint8_t form;       /* enum header_form */
    uint8_t carried;    /* enum header_stage, or-ed */
    uint8_t always;     /* the same: written there even if none */
};
extern const struct header_row header_table[HEADER_COUNT];

/* The row of a header, its letters in exactly this case. NULL: it has none. */
const struct header_row *header_table_find(const char *name);
/* The stage that a subject of AX's names; HEADER_IN_QUEUE for one that names none. */
enum header_stage header_table_stage(const char *subject);
/* Sets the headers that t has there, as header_set does. */
natsStatus header_table_write(const struct task *t, enum header_stage stage, natsMsg *msg);
/* Takes a header of a stored task. Lenient: what cannot be read counts as not given. */
void header_table_read(struct task *t, enum header_stage stage, const char *name,
                       const char *value);
/* Is all that a producer gives the same in both? */
bool header_table_is_same(const struct task *a, const struct task *b);
/* Forgets the text that t borrows from its message. */
void header_table_drop_text(struct task *t);
/* Bytes of the header lines of its text: the others fit into TASK_RESERVE_BYTES. */
size_t header_table_text_bytes(const struct task *t);

#endif
