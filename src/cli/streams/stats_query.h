/* Asks the daemons for their stats on ax.figures (docs/protocol.md). Asking blocks; reading the
 * answers is pure. */
#ifndef AX_CLI_STREAMS_STATS_QUERY_H
#define AX_CLI_STREAMS_STATS_QUERY_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/stats_answer.h"
#include "task/names.h"

/* A question whose answers are still arriving. */
struct stats_query {
    natsSubscription *sub; /* owned */
    json_t *answers;       /* array of objects, owned */
};
/* Asks every daemon. nc: borrowed for the life of q. q is released by stats_query_free in any case.
 * AX_E_NOMEM, AX_E_DISCONNECTED: p says why. */
ax_err stats_query_ask(struct stats_query *q, natsConnection *nc, struct problem *p);
/* The same with a body, which asks for more (docs/protocol.md, "Stats"). */
ax_err stats_query_ask_for(struct stats_query *q, natsConnection *nc, const char *body,
                           struct problem *p);
/* Takes answers until enough() is true, or for at most wait_ms. answers: borrowed. */
void stats_query_gather(struct stats_query *q, int64_t wait_ms,
                        bool (*enough)(void *arg, const json_t *answers), void *arg);
void stats_query_free(struct stats_query *q);

/* True: the process of this name has answered, with all parts of its answer. */
bool stats_query_by(const json_t *answers, const char *name);
/* How many processes of this program have answered. */
int stats_query_count(const json_t *answers, const char *program);

/* What its leader told of a pool; of two dispatchers that believe they lead it, the last. Where
 * none did, out->answered is false. */
void stats_query_pool(const json_t *answers, const char *pool, struct stats_pool *out);

#endif
