/* Opening the NATS connection as every AX program does. */
#ifndef AX_BUS_CONNECT_H
#define AX_BUS_CONNECT_H

#include <nats/nats.h>

#include "base/error.h"
#include "base/options.h"
#include "bus/wire.h"

#define AX_MIN_SERVER "2.14.3"

/* How nats.c hands its socket to a loop of ours; see natsOptions_SetEventLoop. */
struct connect_loop {
    void *loop; /* what attach gets */
    natsEvLoop_Attach attach;
    natsEvLoop_ReadAddRemove read;
    natsEvLoop_WriteAddRemove write;
    natsEvLoop_Detach detach;
};

/* Connects, waiting up to 10 s for a server, and reconnects for ever from then on; with events,
 * also after the server refused it for a while, or ends the process (bus/connection/recover.h).
 * loop NULL: a plain client, as commands are: nats.c reads and flushes on threads of its own. name:
 * shown in `nats server report connections`. events (may be NULL): borrowed until the connection is
 * closed. From now on inboxes begin with the prefix that o names (task/inbox.h). A token in a file
 * is read again whenever it connects anew, a password only here. AX_E_VERSION: the server is older
 * than AX_MIN_SERVER. AX_E_DISCONNECTED, AX_E_AUTH. p says which URL, without its secrets, and why.
 * AX_E_INVALID, AX_E_IO: p says what is wrong with the file of the password. */
ax_err connect_open(natsConnection **out, const struct options *o, const struct connect_loop *loop,
                    const char *name, const struct wire_events *events, struct problem *p);

/* Opens a connection as connect_open does, once and without events, within 2 s a server, and closes
 * it a second later. AX_OK: the server kept it so long. Any thread; errors as there. */
ax_err connect_try(const struct options *o, const char *name, struct problem *p);

/* True when version a ("2.14.3") is at least b. Pre-releases ("2.15.0-RC.1") count as older than
 * their release. */
bool connect_version_at_least(const char *a, const char *b);

/* nats.c status in AX's terms. */
ax_err connect_error(natsStatus s);

#endif
