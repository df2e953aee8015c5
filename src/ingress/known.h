/* Which keyed ids ingress has heard of: finished (Bloom filter over KV_AX_DONE), waiting (AX_LATER)
 * or dead (AX_DEAD). "Not known" is certain while the view is whole, and saves the read; "maybe" is
 * confirmed by the caller with one. The view is read at start, then heard on plain subscriptions;
 * what was not heard (a reconnect, or fewer records heard than the stream has grown by) is read
 * again from the last safe sequence, and until then every answer is "maybe". Keyless ids are never
 * asked for and not kept. Lock held in every call but known_start. */
#ifndef AX_INGRESS_KNOWN_H
#define AX_INGRESS_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record_find.h"

struct ingress;
struct known;

/* Places an id may be found in, as bits. */
#define KNOWN_DONE 1u
#define KNOWN_LATER 2u
#define KNOWN_DEAD 4u

/* Lock not held. The streams need not be there yet. */
ax_err known_start(struct known **out, struct ingress *ing);
/* The places to look for id; 0: certainly new. */
unsigned known_maybe(struct known *k, const char *id);
/* Pages of records are found only while every record has been read or heard: "not there" counts
 * only then. */
bool known_done_is_whole(const struct known *k);
/* record_find with what is known of pages. */
ax_err known_find_record(struct known *k, const char *id, int64_t timeout_ms, record_find_cb cb,
                         void *arg);
/* The caller looked there and found nothing. */
void known_is_not(struct known *k, unsigned place, const char *id);
/* id is being written to AX_LATER, due at due_ns (AX time). */
void known_goes_later(struct known *k, const char *id, int64_t due_ns);
/* id was brought from AX_LATER into its queue. */
void known_left_later(struct known *k, const char *id);
/* id's queue is full: it waits in AX_LATER for longer. */
void known_still_later(struct known *k, const char *id);
/* The streams may be others by now: look. */
void known_refresh(struct known *k);
/* What happened meanwhile was not heard. */
void known_disconnected(struct known *k);
void known_reconnected(struct known *k);
/* Every place has been read. */
bool known_is_whole(const struct known *k);

#endif
