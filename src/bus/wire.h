/* The wire: what AX sends to NATS and hears from it. Nothing outside src/bus and src/cli touches a
 * connection or a subscription; the daemons, and pipeline, puller, reader and provisioner above
 * this header, know a `struct wire` only. wire.c makes one of nats.c; a simulated one can be linked
 * in its place together with the loop (loop.h), and everything above stays the same objects.
 *
 * Any thread: what publishes, wire_is_away, wire_connections, wire_is_flushed, wire_max_payload.
 * All else with the
 * loop's lock held (loop.h), as are the handlers, which run on the loop's thread. */
#ifndef AX_BUS_WIRE_H
#define AX_BUS_WIRE_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/options.h"
#include "bus/loop.h"

struct wire;
struct wire_sub;

/* Both are called without the lock, on a thread of the wire's own. Either may be NULL. */
struct wire_events {
    void (*disconnected)(void *arg);
    void (*reconnected)(void *arg);
    void *arg;
};

/* Connects, waiting up to 10 s for a server, and reconnects for ever from then on.
 * o, l: borrowed for the life of the wire. name: shown by the server in its list of connections.
 * events: borrowed until wire_close; NULL: none.
 * AX_E_DISCONNECTED, AX_E_AUTH, AX_E_VERSION (the server is too old), AX_E_NOMEM: p says which
 * server and why. *out is set then as well, of no use, since threads of nats.c may still look at
 * it. */
ax_err wire_open(struct wire **out, const struct options *o, struct loop *l, const char *name,
                 const struct wire_events *events, struct problem *p);

/* Closes the connection. The wire itself lives as long as the process: threads of nats.c may still
 * look at it. */
void wire_close(struct wire *w);

struct loop *wire_loop(const struct wire *w);

/* msg: taken; the handler destroys it. */
typedef void (*wire_handler)(void *arg, natsMsg *msg);

/* Subscribes for the life of the wire, or until it is retired (nats.c 3.4 crashes on a message for
 * a destroyed subscription). group NULL: no queue group. When several subscriptions
 * have messages, those subscribed first are served first. out may be NULL; it is borrowed.
 * AX_E_NOMEM, AX_E_DISCONNECTED. */
ax_err wire_subscribe(struct wire *w, struct wire_sub **out, const char *subject, const char *group,
                      wire_handler handler, void *arg);

/* The server may send so many messages (> 0) on sub ahead of what was handled, or up to half as
 * many when some of them were. To be said again after each message. When they are used up before
 * the server hears of it, it forgets sub, which is not told; a reconnect makes it count anew. */
void wire_limit(struct wire *w, struct wire_sub *sub, int64_t ahead);
/* Takes no more messages for sub: those that the server has sent already are still delivered, then
 * sub is gone. */
void wire_retire(struct wire *w, struct wire_sub *sub);

/* Headers and body of the message that a handler is called with, as they came, in bytes; for
 * subscriptions that wire_measure was called for. */
int64_t wire_message_bytes(const struct wire *w);
void wire_measure(struct wire *w, struct wire_sub *sub);

/* Of what one read brought, the messages of sub are served before those of all others from now on.
 */
void wire_serve_first(struct wire *w, struct wire_sub *sub);

/* handler runs, with the subscription's arg, for each "no responders" that comes on it: which
 * question that answers nats.c 3.4 does not tell. */
void wire_on_no_responders(struct wire *w, struct wire_sub *sub, void (*handler)(void *arg));

/* Takes no more messages for sub. Those that the server has sent already are still delivered, for
 * at most limit_ms. */
void wire_drain(struct wire *w, struct wire_sub *sub, int64_t limit_ms);
/* Nothing more is delivered on a subscription after wire_drain. connected: as the caller knows it,
 * since without a connection a drain waits for a server that may never come back. */
bool wire_is_drained(struct wire *w, struct wire_sub *sub, bool connected);

/* Publish what is borrowed: data may be NULL when bytes is 0. AX_OK means written to the
 * connection's buffer, which goes out when the loop sleeps next. AX_E_TOO_LONG (max_payload),
 * AX_E_INVALID (the subject), AX_E_NOMEM, AX_E_DISCONNECTED. */
ax_err wire_publish(struct wire *w, const char *subject, const void *data, size_t bytes);
ax_err wire_publish_text(struct wire *w, const char *subject, const char *text);
ax_err wire_publish_msg(struct wire *w, natsMsg *msg);
ax_err wire_request(struct wire *w, const char *subject, const char *reply, const void *data,
                    size_t bytes);

/* The connection is lost and not yet made again. */
bool wire_is_away(const struct wire *w);
/* How often the connection has been made: while it stays the same, nothing that the server sent on
 * a subscription was missed. Counted before anything comes on a new one. */
uint64_t wire_connections(const struct wire *w);
/* Everything published has been written to the socket. */
bool wire_is_flushed(const struct wire *w);
/* The server's bound on headers and body of a message, in bytes. */
int64_t wire_max_payload(const struct wire *w);

/* Writes what was published to the socket at once; loop's thread. wire: a struct wire *. */
void wire_flush(void *wire);
/* A fault point (base/fault.h) that dies after what was published has left for the server. */
#define FAULT_SENT(name, wire) FAULT_AT(name, wire_flush, wire)

#endif
