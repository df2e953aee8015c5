/* Which keyed ids ingress has heard of: finished (Bloom filter over KV_AX_DONE), waiting (AX_LATER)
 * or dead (AX_DEAD). "Not known" is certain while the view is whole, and saves the read; "maybe" is
 * confirmed by the caller with one. The view is read at start, then heard on plain subscriptions;
 * what was not heard (a reconnect, or fewer records heard than the stream has grown by) is read
 * again from the last safe sequence, and until then every answer is "maybe". Keyless ids are never
 * asked for and not kept. Lock held in every call. */
#ifndef AX_INGRESS_KEY_INDEX_H
#define AX_INGRESS_KEY_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "done/record_find.h"

struct ingress;
struct key_index;

/* Places an id may be found in, as bits. */
#define KEY_DONE 1u
#define KEY_LATER 2u
#define KEY_DEAD 4u

/* The streams need not be there yet. */
ax_err key_index_start(struct key_index **out, struct ingress *ing);
/* The places to look for id; 0: certainly new. */
unsigned key_index_maybe(struct key_index *k, const char *id);
/* Pages of records are found only while every record has been read or heard: "not there" counts
 * only then. */
bool key_index_done_is_whole(const struct key_index *k);
/* record_find with what is known of pages. */
ax_err key_index_find_record(struct key_index *k, const char *id, int64_t timeout_ms,
                             record_find_cb cb, void *arg);
/* What should hold a record cannot be read, and counts as none: counted, and logged at most once a
 * minute. where: its subject, or the task whose record it should be. */
void key_index_unreadable(struct key_index *k, const char *where);
/* How often that was, ever. */
int64_t key_index_unreadable_count(const struct key_index *k);
/* The caller looked there and found nothing. */
void key_index_is_not(struct key_index *k, unsigned place, const char *id);
/* id is being written to AX_LATER, due at due_ns (AX time). */
void key_index_goes_later(struct key_index *k, const char *id, int64_t due_ns);
/* id was brought from AX_LATER into its queue. */
void key_index_left_later(struct key_index *k, const char *id);
/* id's queue is full: it waits in AX_LATER for longer. */
void key_index_still_later(struct key_index *k, const char *id);
/* The streams may be others by now: look. */
void key_index_refresh(struct key_index *k);
/* What happened meanwhile was not heard. */
void key_index_disconnected(struct key_index *k);
void key_index_reconnected(struct key_index *k);
/* Every place has been read. */
bool key_index_is_whole(const struct key_index *k);

#endif
