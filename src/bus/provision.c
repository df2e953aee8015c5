#include "bus/provision.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/connect.h"

#define CREATE_TRIES 3
#define CREATE_AGAIN_MS 500
#define DELETE_SETTLES_MS 1000
#define MIN_MAX_BYTES (16LL << 20)
#define NS_PER_MINUTE 60000000000LL
#define QUEUE_SUBJECT_PREFIX "ax.queue."

ax_err provision_no_answer(natsStatus s, const char *what, struct problem *p)
{
    ax_err err = connect_error(s);
    if (err == AX_OK)
        err = AX_E_PROTOCOL;
    return problem_set(p, err, "$JS.API.%s: %s", what, ax_err_text(err));
}

ax_err provision_read_answer(const char *what, const char *data, size_t bytes, json_t **out,
                             int *err_code, struct problem *p)
{
    *out = NULL;
    json_error_t where;
    json_t *root = json_loadb(data, bytes, 0, &where);
    if (root == NULL) {
        return problem_set(p, AX_E_PROTOCOL, "%s: the server's answer is not JSON (%s)", what,
                           where.text);
    }
    json_t *error = json_object_get(root, "error");
    if (error == NULL) {
        *out = root;
        return AX_OK;
    }
    int code = (int)json_integer_value(json_object_get(error, "err_code"));
    const char *description = json_string_value(json_object_get(error, "description"));
    if (err_code != NULL)
        *err_code = code;
    problem_set(p, AX_E_SERVER, "%s: %s (err_code %d)", what,
                description != NULL ? description : "no description", code);
    json_decref(root);
    return AX_E_SERVER;
}

static ax_err api_request(natsConnection *nc, const char *what, const char *payload,
                          int64_t timeout_ms, natsMsg **answer, struct problem *p)
{
    char subject[256];
    if ((size_t)snprintf(subject, sizeof(subject), "$JS.API.%s", what) >= sizeof(subject)) {
        return problem_set(p, AX_E_TOO_LONG, "API subject $JS.API.%.64s… is longer than %zu bytes",
                           what, sizeof(subject) - 1);
    }
    natsStatus s = natsConnection_RequestString(answer, nc, subject, payload, timeout_ms);
    return s == NATS_OK ? AX_OK : provision_no_answer(s, what, p);
}

ax_err provision_api(natsConnection *nc, const char *what, const char *payload, int64_t timeout_ms,
                     char **reply, int *err_code, struct problem *p)
{
    if (err_code != NULL)
        *err_code = 0;
    *reply = NULL;
    natsMsg *answer = NULL;
    ax_err err = api_request(nc, what, payload, timeout_ms, &answer, p);
    if (err != AX_OK)
        return err;

    const char *data = natsMsg_GetData(answer);
    size_t bytes = (size_t)natsMsg_GetDataLength(answer);
    json_t *root;
    err = provision_read_answer(what, data, bytes, &root, err_code, p);
    if (err == AX_OK) {
        json_decref(root);
        *reply = strndup(data, bytes);
        if (*reply == NULL)
            err = problem_set(p, AX_E_NOMEM, "%s: %s", what, ax_err_text(AX_E_NOMEM));
    }
    natsMsg_Destroy(answer);
    return err;
}

ax_err provision_json(natsConnection *nc, const char *what, json_t *payload, json_t **reply,
                      int *err_code, struct problem *p)
{
    if (err_code != NULL)
        *err_code = 0;
    *reply = NULL;
    char *text = NULL;
    if (payload != NULL) {
        text = json_dumps(payload, JSON_COMPACT);
        json_decref(payload);
        if (text == NULL)
            return problem_set(p, AX_E_NOMEM, "%s: %s", what, ax_err_text(AX_E_NOMEM));
    }
    natsMsg *answer = NULL;
    ax_err err = api_request(nc, what, text != NULL ? text : "", PROVISION_TIMEOUT_MS, &answer, p);
    free(text);
    if (err != AX_OK)
        return err;
    err = provision_read_answer(what, natsMsg_GetData(answer),
                                (size_t)natsMsg_GetDataLength(answer), reply, err_code, p);
    natsMsg_Destroy(answer);
    return err;
}

/* Calls each page of a list of the API (STREAM.NAMES, STREAM.LIST) until total is reached. */
static ax_err each_page(natsConnection *nc, const char *what, const char *subject,
                        const char *array,
                        ax_err (*item)(void *arg, json_t *value, struct problem *p), void *arg,
                        struct problem *p)
{
    size_t offset = 0;
    for (;;) {
        json_t *ask = json_pack("{s:I}", "offset", (json_int_t)offset);
        if (subject != NULL)
            json_object_set_new(ask, "subject", json_string(subject));
        json_t *reply;
        ax_err err = provision_json(nc, what, ask, &reply, NULL, p);
        if (err != AX_OK)
            return err;

        /* A stream without a leader right now is named here: a list without it would look as if it
         * were gone. */
        json_t *missing = json_object_get(reply, "missing");
        if (json_array_size(missing) > 0) {
            const char *name = json_string_value(json_array_get(missing, 0));
            err = problem_set(p, AX_E_NO_RESPONDERS, "stream %s has no leader at the moment",
                              name ? name : "?");
        }
        json_t *list = json_object_get(reply, array);
        size_t i;
        json_t *value;
        json_array_foreach(list, i, value) {
            if (err == AX_OK)
                err = item(arg, value, p);
        }
        size_t total = (size_t)json_integer_value(json_object_get(reply, "total"));
        size_t got = json_array_size(list);
        json_decref(reply);
        offset += got;
        if (err != AX_OK || got == 0 || offset >= total)
            return err;
    }
}

static ax_err mark_present(void *arg, json_t *value, struct problem *p)
{
    (void)p;
    uint64_t *present = arg;
    const char *name = json_string_value(value);
    for (int i = 0; name != NULL && i < provision_asset_count; i++) {
        if (strcmp(name, provision_assets[i].name) == 0)
            *present |= 1ULL << i;
    }
    return AX_OK;
}

static bool stream_exists(natsConnection *nc, const char *stream)
{
    char what[128];
    snprintf(what, sizeof(what), "STREAM.INFO.%s", stream);
    json_t *reply;
    if (provision_json(nc, what, NULL, &reply, NULL, NULL) != AX_OK)
        return false;
    json_decref(reply);
    return true;
}

/* AX_WORK's sequences are the fencing tokens, which must never come again: one that replaces a
 * deleted AX_WORK starts where no former one can have got to, at the server's time in microseconds.
 * Streams are made in the order of their names, so a KV_AX_DONE that is there tells that there has
 * been an AX_WORK. 0: this is the first one. */
static int64_t first_seq_of_another(natsConnection *nc)
{
    json_t *reply;
    int64_t now_ns = 0;
    if (provision_json(nc, "STREAM.INFO." STREAM_DONE, NULL, &reply, NULL, NULL) != AX_OK)
        return 0;
    const char *ts = json_string_value(json_object_get(reply, "ts"));
    if (ts == NULL || !clock_parse_rfc3339(ts, &now_ns))
        now_ns = 0;
    json_decref(reply);
    return now_ns / 1000;
}

/* *made: false when somebody else created it in the meantime. */
static ax_err create_stream(natsConnection *nc, const struct provision_asset *asset, int replicas,
                            bool *made, struct problem *p)
{
    *made = false;
    json_error_t where;
    json_t *config = json_loads(asset->json, 0, &where);
    if (config == NULL) {
        return problem_set(p, AX_E_PROTOCOL, "streams/%s.json line %d: %s", asset->name, where.line,
                           where.text);
    }
    if (replicas > 1)
        json_object_set_new(config, "num_replicas", json_integer(replicas));
    int64_t first_seq = strcmp(asset->name, STREAM_WORK) == 0 ? first_seq_of_another(nc) : 0;
    if (first_seq > 0)
        json_object_set_new(config, "first_seq", json_integer(first_seq));
    char what[128];
    snprintf(what, sizeof(what), "STREAM.CREATE.%s", asset->name);

    for (int tries = 1;;) {
        json_t *reply;
        int err_code;
        ax_err err = provision_json(nc, what, json_incref(config), &reply, &err_code, p);
        if (err == AX_OK) {
            *made = json_is_true(json_object_get(reply, "did_create"));
            json_decref(reply);
        }
        /* A cluster that has only just come up, or is about to elect: creating twice is creating
         * once. */
        bool passing = err == AX_E_TIMEOUT ||
                       (err == AX_E_SERVER &&
                        (err_code == JSERR_JS_UNAVAILABLE || err_code == JSERR_NO_PEERS));
        if (passing && tries++ < CREATE_TRIES) {
            poll(NULL, 0, CREATE_AGAIN_MS);
            continue;
        }
        if (err == AX_E_SERVER &&
            (err_code == JSERR_NO_PEERS || err_code == JSERR_REPLICAS_NOT_SUPPORTED)) {
            err = problem_set(
                p, AX_E_SERVER,
                "stream %s: %d replicas need as many servers of one cluster, up and with JetStream",
                asset->name, replicas);
        }
        if (err == AX_E_SERVER && err_code == JSERR_STREAM_NAME_EXISTS)
            err = AX_OK;
        /* max_bytes is reserved on creation: on a small disk a smaller bound is better than no
         * stream. The server looks at the room first, so the stream of a process that was quicker
         * looks like too little room. */
        if (err == AX_E_SERVER && err_code == JSERR_STORAGE_EXCEEDED &&
            stream_exists(nc, asset->name))
            err = AX_OK;
        int64_t max_bytes = json_integer_value(json_object_get(config, "max_bytes"));
        if (err == AX_E_SERVER && err_code == JSERR_STORAGE_EXCEEDED &&
            max_bytes / 2 >= MIN_MAX_BYTES) {
            log_warn("not enough storage for the stream's max_bytes, trying half of it",
                     "stream=%s max_bytes=%lld", asset->name, (long long)max_bytes);
            json_object_set_new(config, "max_bytes", json_integer(max_bytes / 2));
            continue;
        }
        json_decref(config);
        return err;
    }
}

static ax_err find_streams(natsConnection *nc, uint64_t *present, struct problem *p)
{
    *present = 0;
    return each_page(nc, "STREAM.NAMES", NULL, "streams", mark_present, present, p);
}

ax_err provision_streams(natsConnection *nc, int replicas, uint64_t *seen,
                         void (*created)(void *arg, const char *stream), void *arg,
                         struct problem *p)
{
    uint64_t present;
    ax_err err = find_streams(nc, &present, p);
    if (err == AX_OK && seen != NULL && (*seen & ~present) != 0) {
        poll(NULL, 0, DELETE_SETTLES_MS);
        err = find_streams(nc, &present, p);
    }
    for (int i = 0; err == AX_OK && i < provision_asset_count; i++) {
        if (present & 1ULL << i)
            continue;
        bool made;
        err = create_stream(nc, &provision_assets[i], replicas, &made, p);
        if (err != AX_OK)
            break;
        present |= 1ULL << i;
        if (made && created != NULL)
            created(arg, provision_assets[i].name);
    }
    if (seen != NULL)
        *seen |= present;
    return err;
}

struct short_of {
    int replicas;
    void (*found)(void *arg, const char *stream, int replicas);
    void *arg;
};

static ax_err check_replicas(void *arg, json_t *value, struct problem *p)
{
    (void)p;
    const struct short_of *s = arg;
    json_t *config = json_object_get(value, "config");
    const char *stream = json_string_value(json_object_get(config, "name"));
    int replicas = (int)json_integer_value(json_object_get(config, "num_replicas"));
    bool ours = stream != NULL &&
                json_object_get(json_object_get(config, "metadata"), "ax.rank") != NULL;
    for (int i = 0; stream != NULL && i < provision_asset_count && !ours; i++) {
        ours = strcmp(stream, provision_assets[i].name) == 0;
    }
    if (ours && replicas < s->replicas)
        s->found(s->arg, stream, replicas);
    return AX_OK;
}

ax_err provision_short_of_replicas(natsConnection *nc, int replicas,
                                   void (*found)(void *arg, const char *stream, int replicas),
                                   void *arg, struct problem *p)
{
    struct short_of s = {replicas, found, arg};
    return replicas > 1 ? each_page(nc, "STREAM.LIST", NULL, "streams", check_replicas, &s, p)
                        : AX_OK;
}

/* "ax.queue.<name>.>" into name; false: another subject. */
static bool priority_name(const char *subject, char name[NAME_MAX_CHARS + 1])
{
    size_t prefix = strlen(QUEUE_SUBJECT_PREFIX);
    if (subject == NULL || strncmp(subject, QUEUE_SUBJECT_PREFIX, prefix) != 0)
        return false;
    const char *start = subject + prefix;
    const char *dot = strchr(start, '.');
    if (dot == NULL || strcmp(dot, ".>") != 0 || !name_is_valid_n(start, (size_t)(dot - start)))
        return false;
    memcpy(name, start, (size_t)(dot - start));
    name[dot - start] = '\0';
    return true;
}

static bool parse_rank(const char *text, int *rank)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < -1000000 || n > 1000000)
        return false;
    *rank = (int)n;
    return true;
}

static void warn_unusable(const char *stream, const char *why)
{
    static struct log_gate gate;
    unsigned long suppressed;
    if (log_gate_open(&gate, clock_now_ns(), NS_PER_MINUTE, &suppressed)) {
        log_warn("stream has ax.rank but is no priority", "stream=%s why=\"%s\" suppressed=%lu",
                 stream, why, suppressed);
    }
}

/* text NULL: not given. False: *share is 1 all the same. */
static bool parse_share(const char *text, double *share)
{
    char *end = NULL;
    double n = text != NULL ? strtod(text, &end) : 1;
    bool ok = text == NULL || (end != text && *end == '\0' && n >= 0 && n <= 1);
    *share = ok ? n : 1;
    return ok;
}

static ax_err add_priority(void *arg, json_t *value, struct problem *p)
{
    struct priorities *ps = arg;
    json_t *config = json_object_get(value, "config");
    json_t *metadata = json_object_get(config, "metadata");
    const char *stream = json_string_value(json_object_get(config, "name"));
    const char *rank = json_string_value(json_object_get(metadata, "ax.rank"));
    if (stream == NULL || rank == NULL)
        return AX_OK;

    struct priority pr = {.max_msgs = -1};
    json_t *subjects = json_object_get(config, "subjects");
    if (json_array_size(subjects) != 1 ||
        !priority_name(json_string_value(json_array_get(subjects, 0)), pr.name)) {
        warn_unusable(stream, "its subjects must be exactly one, ax.queue.<priority>.>");
        return AX_OK;
    }
    if (!parse_rank(rank, &pr.rank)) {
        warn_unusable(stream, "ax.rank must be a whole number");
        return AX_OK;
    }
    if (strlen(stream) >= sizeof(pr.stream)) {
        warn_unusable(stream, "its name must be shorter than 64 characters");
        return AX_OK;
    }
    if (ps->count == PRIORITIES_MAX) {
        return problem_set(p, AX_E_FULL, "stream %s: more than %d streams have ax.rank", stream,
                           PRIORITIES_MAX);
    }
    strcpy(pr.stream, stream);
    const char *on_full = json_string_value(json_object_get(metadata, "ax.on_full"));
    pr.spill = on_full != NULL && strcmp(on_full, "spill") == 0;
    if (!parse_share(json_string_value(json_object_get(metadata, "ax.group_share")),
                     &pr.group_share))
        warn_unusable(stream, "ax.group_share must be a number from 0 to 1; taken as 1");
    json_t *max_msgs = json_object_get(config, "max_msgs");
    if (json_is_integer(max_msgs) && json_integer_value(max_msgs) > 0)
        pr.max_msgs = json_integer_value(max_msgs);
    pr.messages = (uint64_t)json_integer_value(
        json_object_get(json_object_get(value, "state"), "messages"));
    ps->list[ps->count++] = pr;
    return AX_OK;
}

static int by_rank(const void *left, const void *right)
{
    const struct priority *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

ax_err provision_priorities(natsConnection *nc, struct priorities *out, struct problem *p)
{
    struct priorities found = {0};
    ax_err err = each_page(nc, "STREAM.LIST", "ax.queue.>", "streams", add_priority, &found, p);
    if (err != AX_OK)
        return err;
    qsort(found.list, (size_t)found.count, sizeof(found.list[0]), by_rank);
    *out = found;
    return AX_OK;
}

int priorities_find(const struct priorities *ps, const char *name)
{
    for (int i = 0; i < ps->count; i++) {
        if (strcmp(ps->list[i].name, name) == 0)
            return i;
    }
    return -1;
}
