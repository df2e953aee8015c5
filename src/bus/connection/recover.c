#include "bus/connection/recover.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/leave.h"
#include "base/log.h"
#include "base/random.h"

#define WAIT_MS 250 /* between two attempts */
#define JITTER_MS 100
#define ASK_MS 500 /* between two questions */
#define SLICE_MS 50
/* What fails for so long may fail because of a file that has changed since it was read. */
#define SUSPICIOUS_ATTEMPTS 8
/* So often a fresh connection was let in, and this one failed after it. */
#define PROOFS 3

#define EXIT_FAILED 1

struct recover {
    recover_ask *ask;
    const struct options *options;
    char name[64];
    atomic_bool refused;
    int proofs; /* of the thread that reconnects, as is the gate */
    struct log_gate gate;
    struct recover *next; /* in the list of all: what nats.c borrows is never freed */
};

static struct recover *all;
static atomic_bool ending;

struct recover *recover_new(recover_ask *ask, const struct options *o, const char *name)
{
    struct recover *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->ask = ask;
    r->options = o;
    snprintf(r->name, sizeof(r->name), "%s", name);
    r->next = all;
    all = r;
    return r;
}

void recover_end(void)
{
    atomic_store(&ending, true);
}

void recover_on_error(struct recover *r, natsStatus s)
{
    if (r != NULL && s == NATS_CONNECTION_AUTH_FAILED)
        atomic_store(&r->refused, true);
}

void recover_on_reconnected(struct recover *r)
{
    if (r != NULL)
        atomic_store(&r->refused, false);
}

/* Closing a connection waits for the thread that reconnects. */
static void rest(int ms)
{
    for (int left = ms; left > 0 && !atomic_load(&ending); left -= SLICE_MS)
        poll(NULL, 0, left < SLICE_MS ? left : SLICE_MS);
}

static void say_waiting(struct recover *r, const struct problem *p)
{
    char quoted[sizeof(p->text) + 64];
    log_limited(&r->gate, clock_now_ns(), LOG_WARN, "NATS refuses this connection, asking again",
                "connection=%s error=%s", r->name, log_quote(p->text, quoted, sizeof(quoted)));
}

/* True: a fresh connection was let in. */
static bool ask(struct recover *r)
{
    struct problem p = {0};
    while (!atomic_load(&ending)) {
        if (r->ask(r->options, r->name, &p) == AX_OK)
            return true;
        if (!atomic_load(&r->refused))
            return false;
        say_waiting(r, &p);
        rest(ASK_MS);
    }
    return false;
}

/* nats.c asks how long it is to wait before it tries its servers once more. */
static int64_t on_wait(natsConnection *nc, int attempts, void *arg)
{
    struct recover *r = arg;
    (void)nc;
    rest(WAIT_MS + (int)(random_u64() % JITTER_MS));
    if (attempts <= 1) {
        r->proofs = 0;
        r->gate = (struct log_gate){0};
    }
    if (!atomic_load(&r->refused) && attempts < SUSPICIOUS_ATTEMPTS)
        return 1;
    r->proofs = ask(r) ? r->proofs + 1 : 0;
    if (r->proofs > PROOFS && !atomic_load(&ending)) {
        log_error("a new connection is let in and this one is not, ending: its password or "
                  "certificate was read at the start",
                  "connection=%s", r->name);
        leave(EXIT_FAILED);
    }
    return 1;
}

static void on_closed(natsConnection *nc, void *arg)
{
    struct recover *r = arg;
    const char *more = "";
    char quoted[256];
    if (atomic_load(&ending))
        return;
    natsStatus s = natsConnection_GetLastError(nc, &more);
    log_error("the connection to NATS is closed for good, ending", "connection=%s error=%s",
              r->name,
              log_quote(more != NULL && *more != '\0' ? more : natsStatus_GetText(s), quoted,
                        sizeof(quoted)));
    leave(EXIT_FAILED);
}

natsStatus recover_install(struct recover *r, natsOptions *opts)
{
    natsStatus s = natsOptions_SetCustomReconnectDelay(opts, on_wait, r);
    return s == NATS_OK ? natsOptions_SetClosedCB(opts, on_closed, r) : s;
}
