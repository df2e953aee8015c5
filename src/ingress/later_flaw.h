/* What is wrong with a message of AX_LATER: why it will never reach a queue. Pure. */
#ifndef AX_INGRESS_LATER_FLAW_H
#define AX_INGRESS_LATER_FLAW_H

#include <nats/nats.h>

#include "task/names.h"

#define LATER_FLAWS(X)                                                                 \
    X(LATER_FLAW_NONE, "")                                                             \
    X(LATER_FLAW_SUBJECT, "its subject names no task")                                 \
    X(LATER_FLAW_SCHEDULE, "it has no schedule, so its time never comes")              \
    X(LATER_FLAW_TARGET, "its schedule does not lead to where the task is looked for") \
    X(LATER_FLAW_PRIORITY, "its priority does not exist")
enum later_flaw {
#define X(name, text) name,
    LATER_FLAWS(X)
#undef X
        LATER_FLAW_COUNT
};

/* msg: stored under subject, with its headers; borrowed. *out: what the subject names, zeroed for
 * LATER_FLAW_SUBJECT. Never LATER_FLAW_PRIORITY: the caller knows which priorities there are. */
enum later_flaw later_flaw_of(const char *subject, natsMsg *msg, struct task_subject *out);
/* For people. */
const char *later_flaw_text(enum later_flaw flaw);

#endif
