/* The settings of a pool's consumer on AX_WORK that an operator may change, kept where they outlive
 * it: in the metadata of the pool's consumers on the queue streams. Whoever makes the consumer
 * again after it was deleted makes it as it was. Only what differs from AX's own settings is kept.
 * Pure.
 */
#ifndef AX_BUS_PROVISION_CONSUMER_KEPT_H
#define AX_BUS_PROVISION_CONSUMER_KEPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CONSUMER_KEPT_KEY "ax.work"        /* of a queue's consumer: JSON */
#define CONSUMER_KEPT_MARK "ax.made_again" /* of the one on AX_WORK: it was missing */

/* What is to be kept of a configuration as the server tells it, for one that AX would have made
 * with these defaults; an object, maybe empty. NULL: out of memory. */
json_t *consumer_kept_of(const json_t *config, const json_t *defaults);

/* What a queue's consumer keeps; values that the server would not have taken are left out. NULL:
 * nothing, or out of memory. A new reference. */
json_t *consumer_kept_read(const json_t *queue_config);

/* A queue's consumer keeps this (NULL: nothing) already. */
bool consumer_kept_is(const json_t *queue_config, const json_t *kept);
/* Writes it into the configuration. False: out of memory. */
bool consumer_kept_write(json_t *queue_config, const json_t *kept);

/* A configuration to create the one on AX_WORK with gets what was kept (NULL: nothing), and the
 * mark. False: out of memory. */
bool consumer_kept_apply(json_t *work_config, const json_t *kept);
/* The consumer on AX_WORK with this configuration was missing, and AX made it again. */
bool consumer_kept_is_made_again(const json_t *work_config);

/* What was kept in words, "ack_wait=60s max_ack_pending=100"; "" where nothing was. NULL allowed.
 */
void consumer_kept_text(const json_t *kept, char *out, size_t cap);

#endif
