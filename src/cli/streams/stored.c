#include "cli/streams/stored.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/rfc3339.h"
#include "bus/connect.h"
#include "bus/pipeline_get.h"
#include "bus/provision/provision.h"

#define PUBLISH_TIMEOUT_MS 2000
#define PUBLISH_TRIES 5
#define NO_RESPONDERS_MS 200 /* before the next try */

static ax_err read_stored(const json_t *reply, struct stored *out, struct problem *p)
{
    struct stored_msg found;
    ax_err err = pipeline_get_read(reply, &found);
    if (err == AX_E_PROTOCOL)
        return problem_set(p, err, "the answer to a read of a stored message cannot be understood");
    if (err != AX_OK)
        return problem_set(p, err, "%s", ax_err_text(err));
    snprintf(out->subject, sizeof(out->subject), "%s", found.subject);
    out->seq = found.seq;
    out->time_ns = found.time_ns;
    out->msg = found.msg;
    return AX_OK;
}

ax_err stored_request(natsConnection *nc, const char *what, const char *stream, json_t *payload,
                      json_t **reply, int *err_code, struct problem *p)
{
    char subject[API_SUBJECT_MAX];
    int code = 0;
    snprintf(subject, sizeof(subject), "%s.%s", what, stream);
    ax_err err = provision_json(nc, subject, payload, reply, &code, p);
    if (err == AX_E_SERVER && code == JSERR_STREAM_NOT_FOUND)
        problem_set(p, err, "stream %s does not exist: create it with `ax init`", stream);
    if (err_code != NULL)
        *err_code = code;
    return err;
}

/* request is taken. */
static ax_err get(natsConnection *nc, const char *stream, json_t *request, struct stored *out,
                  struct problem *p)
{
    json_t *reply;
    int err_code;
    *out = (struct stored){0};
    if (request == NULL)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    ax_err err = stored_request(nc, "STREAM.MSG.GET", stream, request, &reply, &err_code, p);
    if (err == AX_E_SERVER && err_code == JSERR_NO_MESSAGE)
        return AX_E_NOT_FOUND;
    if (err == AX_OK) {
        err = read_stored(reply, out, p);
        json_decref(reply);
    }
    return err;
}

ax_err stored_last(natsConnection *nc, const char *stream, const char *subject, struct stored *out,
                   struct problem *p)
{
    return get(nc, stream, json_pack("{s:s}", "last_by_subj", subject), out, p);
}

ax_err stored_next(natsConnection *nc, const char *stream, const char *filter, uint64_t seq,
                   struct stored *out, struct problem *p)
{
    json_t *request = json_pack("{s:I,s:s}", "seq", (json_int_t)(seq ? seq : 1), "next_by_subj",
                                filter);
    return get(nc, stream, request, out, p);
}

ax_err stored_delete(natsConnection *nc, const char *stream, uint64_t seq, struct problem *p)
{
    json_t *reply = NULL;
    int err_code;
    json_t *request = json_pack("{s:I,s:b}", "seq", (json_int_t)seq, "no_erase", 1);
    ax_err err = stored_request(nc, "STREAM.MSG.DELETE", stream, request, &reply, &err_code, p);
    if (err == AX_OK)
        json_decref(reply);
    if (err == AX_E_SERVER &&
        (err_code == JSERR_NO_MESSAGE || err_code == JSERR_SEQUENCE_NOT_FOUND))
        return AX_E_NOT_FOUND;
    return err;
}

void stored_clear(struct stored *s)
{
    natsMsg_Destroy(s->msg);
    *s = (struct stored){0};
}

const char *stored_header(natsMsg *msg, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, name, &value) == NATS_OK ? value : NULL;
}

int64_t stored_number(natsMsg *msg, const char *name, int64_t fallback)
{
    const char *value = stored_header(msg, name);
    char *end = NULL;
    if (!value || !*value)
        return fallback;
    errno = 0;
    int64_t n = strtoll(value, &end, 10);
    return errno || *end ? fallback : n;
}

static ax_err read_ack(natsMsg *reply, const char *subject, int *err_code, struct problem *p)
{
    struct api_answer a;
    json_t *root;
    api_read(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &a, &root);
    json_decref(root);
    if (err_code != NULL)
        *err_code = a.err_code;
    if (a.err == AX_E_SERVER) {
        return problem_set(p, a.err, "publish to %s: %s", subject,
                           a.description[0] != '\0' ? a.description : "refused");
    }
    return a.err == AX_OK ? AX_OK
                          : problem_set(p, a.err, "publish to %s: the answer is not JSON", subject);
}

ax_err stored_publish(natsConnection *nc, natsMsg *msg, int *err_code, struct problem *p)
{
    const char *subject = natsMsg_GetSubject(msg);
    ax_err err = AX_E_TIMEOUT;
    if (err_code != NULL)
        *err_code = 0;
    for (int i = 0; i < PUBLISH_TRIES; i++) {
        natsMsg *reply = NULL;
        natsStatus s = natsConnection_RequestMsg(&reply, nc, msg, PUBLISH_TIMEOUT_MS);
        err = connect_error(s);
        if (s == NATS_OK) {
            err = read_ack(reply, subject, err_code, p);
            natsMsg_Destroy(reply);
            return err;
        }
        if (s != NATS_TIMEOUT && s != NATS_NO_RESPONDERS)
            break;
        if (s == NATS_NO_RESPONDERS)
            nats_Sleep(NO_RESPONDERS_MS);
    }
    return problem_set(p, err, "publish to %s: %s", subject, ax_err_text(err));
}
