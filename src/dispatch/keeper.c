/* The keeper: a thread for the slow road. Creates streams and consumers that are missing, reads
 * priorities and the age of AX_WORK, on start, when told that something changed, and every few
 * seconds. Blocking requests; the loop's lock is taken only to hand over results. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "dispatch/dispatch.h"

#define EVERY_S 5
#define WAIT_MS 5000
#define CALM_MS 100 /* between two rounds: a burst of advisories is one round */

static void on_created(void *arg, const char *stream)
{
    (void)arg;
    log_info("stream created", "stream=%s", stream);
}

static void on_repaired(void *arg, const char *what)
{
    (void)arg;
    char buf[256];
    log_info("consumer set up", "what=%s", log_quote(what, buf, sizeof(buf)));
}

static int64_t work_created(natsConnection *nc)
{
    char *reply = NULL;
    int err_code = 0;
    int64_t ns = 0;
    if (provision_api(nc, "STREAM.INFO." STREAM_WORK, "", WAIT_MS, &reply, &err_code, NULL) !=
        AX_OK)
        return 0;
    json_t *root = json_loads(reply, 0, NULL);
    const char *created = json_string_value(json_object_get(root, "created"));
    if (created == NULL || !clock_parse_rfc3339(created, &ns))
        ns = 0;
    json_decref(root);
    free(reply);
    return ns;
}

/* A stopping daemon does not wait for the rest of a round. */
static bool over(struct dispatch *d)
{
    pthread_mutex_lock(&d->keeper_lock);
    bool stop = d->keeper_stop;
    pthread_mutex_unlock(&d->keeper_lock);
    return stop;
}

static void keep_pools(struct dispatch *d, const struct priorities *ps)
{
    char name[NAME_MAX_CHARS + 1];
    struct problem p;
    loop_enter(d->loop);
    /* pools are only ever added, at the front, and live as long as the process */
    struct pool *pool = d->pools;
    loop_leave(d->loop);
    for (; pool != NULL && !over(d); pool = pool->next) {
        memcpy(name, pool->name, sizeof(name));
        ax_err err = provision_pool(wire_connection(d->wire), ps, name, on_repaired, NULL, &p);
        if (err != AX_OK) {
            char buf[256];
            log_warn("pool not provisioned", "pool=%s error=%s", name,
                     log_quote(p.text, buf, sizeof(buf)));
            continue;
        }
        loop_enter(d->loop);
        pool_set_priorities(pool, ps);
        pool_set_provisioned(pool);
        loop_leave(d->loop);
    }
}

static void round_once(struct dispatch *d)
{
    struct priorities ps;
    struct problem p = {0};
    char buf[256];
    ax_err err = provision_streams(wire_connection(d->wire), (int)d->options->replicas,
                                   &d->keeper_seen, on_created, NULL, &p);
    if (err == AX_OK)
        err = provision_priorities(wire_connection(d->wire), &ps, &p);
    int64_t created = err == AX_OK ? work_created(wire_connection(d->wire)) : 0;
    if (err != AX_OK || created == 0) {
        log_warn("JetStream not ready", "error=%s",
                 log_quote(err != AX_OK ? p.text : "no AX_WORK", buf, sizeof(buf)));
        return;
    }
    loop_enter(d->loop);
    d->priorities = ps;
    dispatch_set_epoch(d, created);
    loop_leave(d->loop);
    keep_pools(d, &ps);
}

static void wait_a_little(struct dispatch *d, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    int rc = 0;
    while (!d->keeper_kicked && !d->keeper_stop && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&d->keeper_wake, &d->keeper_lock, &until);
}

static void *keeper_main(void *arg)
{
    struct dispatch *d = arg;
    pthread_mutex_lock(&d->keeper_lock);
    while (!d->keeper_stop) {
        d->keeper_kicked = false;
        pthread_mutex_unlock(&d->keeper_lock);
        round_once(d);
        struct timespec calm = {.tv_nsec = CALM_MS * 1000000L};
        nanosleep(&calm, NULL);
        pthread_mutex_lock(&d->keeper_lock);
        wait_a_little(d, EVERY_S * 1000);
    }
    pthread_mutex_unlock(&d->keeper_lock);
    return NULL;
}

ax_err keeper_start(struct dispatch *d)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&d->keeper_lock, NULL);
    pthread_cond_init(&d->keeper_wake, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&d->keeper, NULL, keeper_main, d) != 0)
        return AX_E_NOMEM;
    d->keeper_running = true;
    return AX_OK;
}

void dispatch_kick(struct dispatch *d)
{
    pthread_mutex_lock(&d->keeper_lock);
    d->keeper_kicked = true;
    pthread_cond_signal(&d->keeper_wake);
    pthread_mutex_unlock(&d->keeper_lock);
}

void keeper_stop(struct dispatch *d)
{
    if (!d->keeper_running)
        return;
    pthread_mutex_lock(&d->keeper_lock);
    d->keeper_stop = true;
    pthread_cond_signal(&d->keeper_wake);
    pthread_mutex_unlock(&d->keeper_lock);
    pthread_join(d->keeper, NULL);
    d->keeper_running = false;
}
