/* Whom a daemon answers. A reply subject is chosen by whoever sends the message, and the answer is
 * published with the daemon's rights: only here is it taken from a message, and only when it is an
 * inbox (task/inbox.h). Any other is counted, logged once a minute, and treated as if none had been
 * given. Acks go elsewhere: puller_ack_subject. */
#ifndef AX_STATS_REPLIES_H
#define AX_STATS_REPLIES_H

#include <nats/nats.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/options.h"
#include "bus/loop.h"
#include "stats/metrics.h"

struct replies {
    struct loop *loop;    /* borrowed */
    const char *prefixes; /* borrowed: of options; NULL: none but the usual one */
    struct metric *refused;
    struct log_gate gate;
};

/* l, o: borrowed. counter: name of the metric that counts reply subjects that are no inbox. */
void replies_init(struct replies *r, struct loop *l, const struct options *o, const char *counter);

/* msg has a reply subject, whatever it is: somebody else is to answer, such as the server. */
bool replies_are_wanted(natsMsg *msg);

/* The subject to answer msg on (borrowed from msg); NULL: nobody is to be answered. Loop lock. */
const char *replies_of(struct replies *r, natsMsg *msg);

#endif
