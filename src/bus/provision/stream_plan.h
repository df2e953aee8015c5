/* What to do about a stream that is missing: the rules, without asking anybody. Pure. */
#ifndef AX_BUS_PROVISION_STREAM_PLAN_H
#define AX_BUS_PROVISION_STREAM_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/api.h"
#include "task/names.h"

/* The JSON files of streams/, compiled in as they stand. */
struct stream_plan_asset {
    const char *name; /* stream name */
    const char *json;
};
extern const struct stream_plan_asset stream_plan_assets[]; /* in the order of their names */
extern const int stream_plan_asset_count;

/* Index of the asset of that name; -1: none. */
int stream_plan_find(const char *stream);

/* The first sequence of an AX_WORK that is to be made. Its sequences are the fencing tokens, which
 * must never be used twice: one that replaces a deleted AX_WORK starts where no former one can have
 * got to, at the server's time in microseconds. Streams are made in the order of their names, so a
 * KV_AX_DONE that exists tells that there has been an AX_WORK. done_info: the answer to
 * STREAM_PLAN_DONE_INFO. 0: this is the first AX_WORK, no sequence is set. -1: not known, p says
 * why; AX_WORK must not be made then. */
#define STREAM_PLAN_DONE_INFO "STREAM.INFO." STREAM_DONE
int64_t stream_plan_first_seq(const struct api_answer *done_info, struct problem *p);

/* The configuration to create an asset with, a new reference. replicas > 1 replaces its
 * num_replicas, first_seq > 0 sets that. NULL: p says what is wrong with the file. */
json_t *stream_plan_config(const struct stream_plan_asset *asset, int replicas, int64_t first_seq,
                           struct problem *p);

enum stream_step {
    STREAM_MADE,    /* it exists now, and we made it */
    STREAM_EXISTS,  /* it exists, somebody else made it */
    STREAM_AGAIN,   /* create again in STREAM_PLAN_AGAIN_MS */
    STREAM_LOOK,    /* ask whether it exists; if not, stream_plan_halve, or p says why not */
    STREAM_REFUSED, /* p says why */
};
#define STREAM_PLAN_AGAIN_MS 500

/* What follows from the answer to STREAM.CREATE. tries: how often it was asked so far, 1 or more;
 * replicas: as in stream_plan_config, for p. */
enum stream_step stream_plan_after_create(const struct stream_plan_asset *asset, int replicas,
                                          int tries, const struct api_answer *a, struct problem *p);

/* The stream does not exist and the server has not the storage that its max_bytes reserves: halves
 * max_bytes in config, since a smaller bound is better than no stream. False: it is as small as it
 * may get, or has no bound. */
bool stream_plan_halve(json_t *config);

#endif
