/* Consumers of pools and feeders, and the pool's entry in KV_AX_POOLS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/provision.h"
#include "task/header.h"

#define NS_PER_S 1000000000LL
#define WORK_ACK_WAIT_NS (30 * NS_PER_S)
#define WORK_MAX_ACK_PENDING 1000
#define FEEDER_ACK_WAIT_NS                                                                       \
    (6 * NS_PER_S) /* what a dead ingress held comes back this late; renewed four times as often \
                    */
#define ADD_POOL_TRIES 5

struct teller {
    void (*repaired)(void *arg, const char *what);
    void *arg;
};

/* The queue message's lease outlives the worker's heartbeat timeout by this much, so that the
 * time-out is seen on AX_WORK before the queue message comes again. */
static int64_t queue_ack_wait_ns(int64_t work_ack_wait_ns)
{
    int64_t margin = work_ack_wait_ns / 10;
    return work_ack_wait_ns + (margin > NS_PER_S ? margin : NS_PER_S);
}

/* *config: new reference to the consumer's config; AX_E_NOT_FOUND: no such consumer. */
static ax_err read_consumer(natsConnection *nc, const char *stream, const char *consumer,
                            json_t **config, struct problem *p)
{
    *config = NULL;
    char what[160];
    snprintf(what, sizeof(what), "CONSUMER.INFO.%s.%s", stream, consumer);
    json_t *reply;
    int err_code;
    ax_err err = provision_json(nc, what, NULL, &reply, &err_code, p);
    if (err == AX_E_SERVER && err_code == JSERR_CONSUMER_NOT_FOUND)
        return AX_E_NOT_FOUND;
    if (err == AX_E_SERVER && err_code == JSERR_STREAM_NOT_FOUND) {
        return problem_set(p, AX_E_SERVER, "stream %s is missing: `ax init` creates it", stream);
    }
    if (err != AX_OK)
        return err;
    json_t *found = json_object_get(reply, "config");
    if (json_is_object(found))
        *config = json_incref(found);
    json_decref(reply);
    return *config != NULL ? AX_OK
                           : problem_set(p, AX_E_PROTOCOL, "%s: an answer without config", what);
}

/* action: create or update; config is taken. */
static ax_err write_consumer(natsConnection *nc, const char *stream, const char *consumer,
                             const char *action, json_t *config, int *err_code, struct problem *p)
{
    *err_code = 0;
    const char *filter = json_string_value(json_object_get(config, "filter_subject"));
    char what[256];
    /* An operator may have given it several filters; then the API wants none in the subject. */
    if (filter != NULL && filter[0] != '\0') {
        snprintf(what, sizeof(what), "CONSUMER.CREATE.%s.%s.%s", stream, consumer, filter);
    } else {
        snprintf(what, sizeof(what), "CONSUMER.CREATE.%s.%s", stream, consumer);
    }
    json_t *reply;
    json_t *ask = json_pack("{s:s,s:o,s:s}", "stream_name", stream, "config", config, "action",
                            action);
    ax_err err = provision_json(nc, what, ask, &reply, err_code, p);
    if (err == AX_OK)
        json_decref(reply);
    return err;
}

static json_t *new_consumer(const char *name, const char *filter, int64_t ack_wait_ns,
                            int max_deliver, int max_ack_pending)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:I,s:i,s:i,s:s,s:s}", "durable_name", name, "name", name,
                     "ack_policy", "explicit", "deliver_policy", "all", "ack_wait",
                     (json_int_t)ack_wait_ns, "max_deliver", max_deliver, "max_ack_pending",
                     max_ack_pending, "replay_policy", "instant", "filter_subject", filter);
}

static ax_err create_consumer(natsConnection *nc, const char *stream, const char *name,
                              json_t *config, const struct teller *tell, struct problem *p)
{
    int err_code;
    ax_err err = write_consumer(nc, stream, name, "create", config, &err_code, p);
    /* made by somebody else just now */
    if (err == AX_E_SERVER && err_code == JSERR_CONSUMER_EXISTS)
        return AX_OK;
    if (err == AX_OK && tell != NULL && tell->repaired != NULL) {
        char line[192];
        snprintf(line, sizeof(line), "consumer %s on %s created", name, stream);
        tell->repaired(tell->arg, line);
    }
    return err;
}

static ax_err ensure_work_consumer(natsConnection *nc, const char *pool, const struct teller *tell,
                                   int64_t *ack_wait_ns, struct problem *p)
{
    *ack_wait_ns = WORK_ACK_WAIT_NS;
    json_t *config;
    ax_err err = read_consumer(nc, STREAM_WORK, pool, &config, p);
    if (err == AX_E_NOT_FOUND) {
        char filter[SUBJECT_MAX_CHARS];
        snprintf(filter, sizeof(filter), "ax.work.%s.>", pool);
        return create_consumer(
            nc, STREAM_WORK, pool,
            new_consumer(pool, filter, WORK_ACK_WAIT_NS, 1, WORK_MAX_ACK_PENDING), tell, p);
    }
    if (err != AX_OK)
        return err;

    int64_t found = json_integer_value(json_object_get(config, "ack_wait"));
    if (found > 0)
        *ack_wait_ns = found;
    int64_t max_deliver = json_integer_value(json_object_get(config, "max_deliver"));
    if (max_deliver == 1) {
        json_decref(config);
        return AX_OK;
    }
    json_object_set_new(config, "max_deliver", json_integer(1));
    json_object_del(config, "backoff"); /* the server refuses a backoff longer than max_deliver */
    int err_code;
    err = write_consumer(nc, STREAM_WORK, pool, "update", config, &err_code, p);
    if (err == AX_OK && tell->repaired != NULL) {
        char line[192];
        snprintf(line, sizeof(line),
                 "consumer %s on " STREAM_WORK ": max_deliver %lld set back to 1", pool,
                 (long long)max_deliver);
        tell->repaired(tell->arg, line);
    }
    return err;
}

static ax_err ensure_queue_consumer(natsConnection *nc, const struct priority *pr, const char *pool,
                                    int64_t ack_wait_ns, const struct teller *tell,
                                    struct problem *p)
{
    json_t *config;
    ax_err err = read_consumer(nc, pr->stream, pool, &config, p);
    if (err == AX_E_NOT_FOUND) {
        char filter[SUBJECT_MAX_CHARS];
        snprintf(filter, sizeof(filter), "ax.queue.%s.%s.>", pr->name, pool);
        return create_consumer(nc, pr->stream, pool,
                               new_consumer(pool, filter, ack_wait_ns, -1, -1), tell, p);
    }
    if (err != AX_OK)
        return err;

    int64_t found = json_integer_value(json_object_get(config, "ack_wait"));
    if (found == ack_wait_ns) {
        json_decref(config);
        return AX_OK;
    }
    json_object_set_new(config, "ack_wait", json_integer(ack_wait_ns));
    int err_code;
    err = write_consumer(nc, pr->stream, pool, "update", config, &err_code, p);
    if (err == AX_OK && tell->repaired != NULL) {
        char line[192];
        snprintf(line, sizeof(line), "consumer %s on %s: ack_wait %lld ms set to %lld ms", pool,
                 pr->stream, (long long)(found / 1000000), (long long)(ack_wait_ns / 1000000));
        tell->repaired(tell->arg, line);
    }
    return err;
}

ax_err provision_pool(natsConnection *nc, const struct priorities *ps, const char *pool,
                      void (*repaired)(void *arg, const char *what), void *arg, struct problem *p)
{
    struct teller tell = {repaired, arg};
    int64_t work_ack_wait_ns;
    ax_err err = ensure_work_consumer(nc, pool, &tell, &work_ack_wait_ns, p);
    for (int i = 0; err == AX_OK && i < ps->count; i++) {
        err = ensure_queue_consumer(nc, &ps->list[i], pool, queue_ack_wait_ns(work_ack_wait_ns),
                                    &tell, p);
    }
    return err;
}

static ax_err ensure_feeder(natsConnection *nc, const char *stream, const char *stage,
                            const char *priority, struct problem *p)
{
    char name[NAME_MAX_CHARS + sizeof("feeder-")];
    snprintf(name, sizeof(name), "feeder-%s", priority);
    json_t *config;
    ax_err err = read_consumer(nc, stream, name, &config, p);
    if (err == AX_OK)
        json_decref(config);
    if (err != AX_E_NOT_FOUND)
        return err;
    char filter[SUBJECT_MAX_CHARS];
    snprintf(filter, sizeof(filter), "ax.%s.%s.>", stage, priority);
    return create_consumer(nc, stream, name, new_consumer(name, filter, FEEDER_ACK_WAIT_NS, -1, -1),
                           NULL, p);
}

ax_err provision_feeders(natsConnection *nc, const struct priorities *ps, struct problem *p)
{
    ax_err err = AX_OK;
    for (int i = 0; err == AX_OK && i < ps->count; i++) {
        err = ensure_feeder(nc, STREAM_LATER, "due", ps->list[i].name, p);
        if (err == AX_OK)
            err = ensure_feeder(nc, STREAM_SPILL, "spill", ps->list[i].name, p);
    }
    return err;
}

/* Publishes json as the pool's entry, provided that the last message of its subject is expected (0:
 * none). */
static ax_err put_pool(natsConnection *nc, const char *subject, const char *json, uint64_t expected,
                       int *err_code, struct problem *p)
{
    *err_code = 0;
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)expected);
    natsMsg *msg = NULL;
    natsMsg *answer = NULL;
    natsStatus s = natsMsg_Create(&msg, subject, NULL, json, (int)strlen(json));
    if (s == NATS_OK)
        s = header_set(msg, HDR_EXPECT_SUBJECT_SEQ, number);
    if (s == NATS_OK)
        s = natsConnection_RequestMsg(&answer, nc, msg, PROVISION_TIMEOUT_MS);
    natsMsg_Destroy(msg);
    if (s == NATS_NO_RESPONDERS) {
        return problem_set(p, AX_E_NO_RESPONDERS,
                           "bucket AX_POOLS is missing: `ax init` creates it");
    }
    if (s != NATS_OK)
        return provision_no_answer(s, subject, p);
    json_t *reply;
    ax_err err = provision_read_answer(subject, natsMsg_GetData(answer),
                                       (size_t)natsMsg_GetDataLength(answer), &reply, err_code, p);
    natsMsg_Destroy(answer);
    if (err == AX_OK)
        json_decref(reply);
    return err;
}

/* AX_E_EXISTS: the pool has an entry. AX_OK: it was deleted, *seq is the marker to replace; 0:
 * nothing there. */
static ax_err read_marker(natsConnection *nc, const char *subject, uint64_t *seq, struct problem *p)
{
    *seq = 0;
    json_t *reply;
    int err_code;
    ax_err err = provision_json(nc, "STREAM.MSG.GET." STREAM_POOLS,
                                json_pack("{s:s}", "last_by_subj", subject), &reply, &err_code, p);
    if (err == AX_E_SERVER && err_code == JSERR_NO_MESSAGE)
        return AX_OK;
    if (err != AX_OK)
        return err;
    json_t *message = json_object_get(reply, "message");
    /* A deleted key is a message with headers (KV-Operation) and no value. */
    const char *data = json_string_value(json_object_get(message, "data"));
    if ((data == NULL || data[0] == '\0') && json_object_get(message, "hdrs") != NULL) {
        *seq = (uint64_t)json_integer_value(json_object_get(message, "seq"));
    } else {
        err = AX_E_EXISTS;
    }
    json_decref(reply);
    return err;
}

ax_err provision_add_pool(natsConnection *nc, const char *pool, const char *json, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), POOLS_PREFIX "%s", pool);
    uint64_t expected = 0;
    for (int i = 0;; i++) {
        int err_code;
        ax_err err = put_pool(nc, subject, json, expected, &err_code, p);
        if (err != AX_E_SERVER || err_code != JSERR_WRONG_LAST_SEQ || i == ADD_POOL_TRIES)
            return err;
        err = read_marker(nc, subject, &expected, p);
        if (err == AX_E_EXISTS)
            return problem_set(p, AX_E_EXISTS, "pool %s is there already", pool);
        if (err != AX_OK)
            return err;
    }
}
