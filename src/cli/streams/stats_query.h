/* What the daemons tell of themselves on ax.figures (docs/protocol.md). Blocking; what is read of
 * an answer is pure. */
#ifndef AX_CLI_STREAMS_STATS_QUERY_H
#define AX_CLI_STREAMS_STATS_QUERY_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/stats_answer.h"
#include "task/names.h"

/* A question whose answers are still coming. */
struct stats_query {
    natsSubscription *sub;
    json_t *answers; /* array of objects, owned */
};
/* Asks everybody. Released by stats_query_free in any case. */
ax_err stats_query_ask(struct stats_query *t, natsConnection *nc, struct problem *p);
/* Takes answers until enough() says so, or for at most wait_ms. */
void stats_query_gather(struct stats_query *t, int64_t wait_ms,
                        bool (*enough)(void *arg, const json_t *answers), void *arg);
void stats_query_free(struct stats_query *t);

/* True: this process has answered, in full. */
bool stats_query_by(const json_t *answers, const char *name);
/* How many of this program have answered. */
int stats_query_count(const json_t *answers, const char *program);

/* What its leader told of a pool; of two dispatchers that believe they lead it, the last. Where
 * none did, out->answered is false. */
void stats_query_pool(const json_t *answers, const char *pool, struct stats_pool *out);

struct advice {
    char text[240]; /* what was seen */
    char fix[160];  /* what to turn */
};
/* Is ack_wait long enough for what attempts take? false: nothing to say. */
bool stats_ack_wait_advice(const char *pool, const struct stats_pool *t, struct advice *out);
/* Are living workers declared dead? The same. */
bool stats_late_ack_advice(const char *pool, const struct stats_pool *t, struct advice *out);

#endif
