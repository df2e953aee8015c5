#include "ingress/keeper.h"

#include <nats/nats.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "bus/provision.h"
#include "bus/wire.h"
#include "ingress/ingress.h"
#include "ingress/key_index.h"
#include "ingress/pools.h"
#include "ingress/queue/queue.h"

#define ROUND_S 5
#define SETTLE_MS 100 /* advisories come in flocks, our own doing among them */

static const char *const advisories[] = {
    "$JS.EVENT.ADVISORY.STREAM.CREATED.>",
    "$JS.EVENT.ADVISORY.STREAM.DELETED.>",
    "$JS.EVENT.ADVISORY.STREAM.UPDATED.>",
    "$JS.EVENT.ADVISORY.CONSUMER.DELETED.>",
};
#define ADVISORIES ((int)(sizeof(advisories) / sizeof(advisories[0])))

struct keeper {
    struct ingress *ing;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool kicked, stopping;
    char trouble[384]; /* last error logged, to say it once */
    bool created, counted_replicas;
    uint64_t seen; /* streams: see provision_streams */
};

static void on_advisory(void *arg, natsMsg *msg)
{
    keeper_kick(arg);
    natsMsg_Destroy(msg);
}

void keeper_kick(struct keeper *k)
{
    if (k == NULL)
        return;
    pthread_mutex_lock(&k->lock);
    k->kicked = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
}

static void on_created(void *arg, const char *stream)
{
    struct keeper *k = arg;
    k->created = true;
    log_info("stream created", "stream=%s", stream);
}

static void on_short(void *arg, const char *stream, int replicas)
{
    struct keeper *k = arg;
    log_warn("stream has fewer replicas than asked for, left as it is",
             "stream=%s replicas=%d asked=%d", stream, replicas, (int)k->ing->options->replicas);
}

static ax_err look(struct keeper *k, struct problem *p)
{
    struct ingress *ing = k->ing;
    struct priorities ps;
    k->created = false;
    ax_err err = provision_streams(wire_connection(ing->wire), (int)ing->options->replicas,
                                   &k->seen, on_created, k, p);
    if (err == AX_OK)
        err = provision_priorities(wire_connection(ing->wire), &ps, p);
    if (err == AX_OK)
        err = provision_feeders(wire_connection(ing->wire), &ps, p);
    if (err == AX_OK && !k->counted_replicas) {
        k->counted_replicas = provision_short_of_replicas(wire_connection(ing->wire),
                                                          (int)ing->options->replicas, on_short, k,
                                                          NULL) == AX_OK;
    }
    if (err != AX_OK && !k->created)
        return err;
    loop_enter(ing->loop);
    if (err == AX_OK)
        ingress_take_priorities(ing, &ps);
    if (k->created) {
        pools_refresh(ing->pools);
        key_index_refresh(ing->key_index);
    }
    loop_leave(ing->loop);
    return err;
}

static bool wait_for_work(struct keeper *k)
{
    struct timespec until;
    pthread_mutex_lock(&k->lock);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += k->trouble[0] != '\0' ? 1 : ROUND_S;
    while (!k->kicked && !k->stopping && pthread_cond_timedwait(&k->wake, &k->lock, &until) == 0) {
    }
    if (k->kicked && !k->stopping) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += SETTLE_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        while (!k->stopping && pthread_cond_timedwait(&k->wake, &k->lock, &until) == 0) {
        }
    }
    k->kicked = false;
    bool go_on = !k->stopping;
    pthread_mutex_unlock(&k->lock);
    return go_on;
}

static void *run(void *arg)
{
    struct keeper *k = arg;
    do {
        struct problem p = {0};
        char text[400];
        ax_err err = look(k, &p);
        if (err == AX_OK)
            k->trouble[0] = '\0';
        else if (strcmp(k->trouble, p.text) != 0) {
            log_warn("cannot see to the streams, trying again", "error=%s",
                     log_quote(p.text, text, sizeof(text)));
        }
        if (err != AX_OK) {
            memcpy(k->trouble, p.text[0] != '\0' ? p.text : "?",
                   p.text[0] != '\0' ? sizeof(k->trouble) : 2);
        }
    } while (wait_for_work(k));
    nats_ReleaseThreadMemory();
    return NULL;
}

ax_err keeper_start(struct keeper **out, struct ingress *ing)
{
    struct keeper *k = calloc(1, sizeof(*k));
    if (k == NULL)
        return AX_E_NOMEM;
    k->ing = ing;
    pthread_mutex_init(&k->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&k->wake, &attr);
    pthread_condattr_destroy(&attr);
    *out = k;
    for (int i = 0; i < ADVISORIES; i++) {
        ax_err err = wire_subscribe(ing->wire, NULL, advisories[i], NULL, on_advisory, k);
        if (err != AX_OK)
            return err;
    }
    return pthread_create(&k->thread, NULL, run, k) == 0 ? AX_OK : AX_E_NOMEM;
}

void keeper_stop(struct keeper *k)
{
    pthread_mutex_lock(&k->lock);
    k->stopping = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
}
