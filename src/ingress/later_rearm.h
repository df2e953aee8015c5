/* A schedule stored anew. A plain message on the subject of a schedule makes the server forget the
 * schedule's timer, though its message stays; storing it once more sets the timer again. Pure. */
#ifndef AX_INGRESS_LATER_REARM_H
#define AX_INGRESS_LATER_REARM_H

#include <nats/nats.h>

#include "base/error.h"
#include "bus/pipeline_get.h"

/* *out: the message of found, to be stored while last_seq is the last sequence on its subject. The
 * server removes the subject's earlier messages as it stores it. reply: of the publish.
 * AX_E_NOMEM. */
ax_err later_rearm_msg(const struct stored_msg *found, const char *reply, uint64_t last_seq,
                       natsMsg **out);

#endif
