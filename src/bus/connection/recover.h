/* A connection that the server refuses while the process runs: a password was changed, a user is
 * missing for a while, credentials have expired.
 *
 * nats.c 3.4 closes a connection for good when a server refuses it twice in a row. So after a first
 * refusal nats.c waits until a connection of its own kind, which is opened for that purpose only,
 * is let in; that one reads the files of the credentials again. Where this is of no help, since
 * nats.c reads passwords and certificates once, or where the connection is closed for good all the
 * same, the process ends with exit code 1 and a line in the log: its supervisor starts it anew. A
 * process never lives on without a connection that can come back. */
#ifndef AX_BUS_CONNECTION_RECOVER_H
#define AX_BUS_CONNECTION_RECOVER_H

#include <nats/nats.h>

#include "base/error.h"
#include "base/options.h"

struct recover;

/* Opens a connection and closes it; AX_OK: it was let in. */
typedef ax_err recover_ask(const struct options *o, const char *name, struct problem *p);

/* ask: called on nats.c's threads. o: borrowed for the life of the process; name: copied. Lives as
 * long as the process. NULL: no memory. */
struct recover *recover_new(recover_ask *ask, const struct options *o, const char *name);
/* Before the connection is made with opts. */
natsStatus recover_install(struct recover *r, natsOptions *opts);
/* The connection had error s; it was made again. Any thread. r NULL: they do nothing. */
void recover_on_error(struct recover *r, natsStatus s);
void recover_on_reconnected(struct recover *r);

/* From now on connections of this process are closed on purpose. Any thread. */
void recover_end(void);

#endif
