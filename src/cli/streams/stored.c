#include "cli/streams/stored.h"

#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/rfc3339.h"
#include "bus/connect.h"
#include "bus/provision/provision.h"

#define PUBLISH_TIMEOUT_MS 2000
#define PUBLISH_TRIES 5
#define NO_RESPONDERS_MS 200 /* before the next try */

/* Decoded bytes with a NUL behind them; caller frees. */
static char *decode_base64(const char *text, size_t *bytes)
{
    size_t chars = text ? strlen(text) : 0;
    char *out = malloc(chars / 4 * 3 + 4);
    *bytes = 0;
    if (!out)
        return NULL;
    out[0] = '\0';
    if (chars == 0)
        return out;
    int n = EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)text, (int)chars);
    if (n < 0 || chars % 4) {
        free(out);
        return NULL;
    }
    /* EVP_DecodeBlock counts the padding as bytes. */
    for (size_t i = chars; i > 0 && text[i - 1] == '=' && n > 0; i--)
        n--;
    *bytes = (size_t)n;
    out[n] = '\0';
    return out;
}

static void add_headers(natsMsg *msg, char *block)
{
    char *line = strstr(block, "\r\n"); /* behind the version line */
    while (line && line[2] && strncmp(line, "\r\n\r\n", 4) != 0) {
        char *name = line + 2;
        char *end = strstr(name, "\r\n");
        char *colon = strchr(name, ':');
        if (!end || !colon || colon > end)
            return;
        *colon = '\0';
        char *value = colon + 1;
        value += *value == ' ';
        *end = '\0';
        natsMsgHeader_Add(msg, name, value);
        *end = '\r';
        line = end;
    }
}

static ax_err make_message(const json_t *message, struct stored *out)
{
    size_t bytes = 0, header_bytes = 0;
    char *data = decode_base64(json_string_value(json_object_get(message, "data")), &bytes);
    char *headers = decode_base64(json_string_value(json_object_get(message, "hdrs")),
                                  &header_bytes);
    ax_err err = data != NULL && headers != NULL && bytes <= INT32_MAX ? AX_OK : AX_E_PROTOCOL;
    if (err == AX_OK && natsMsg_Create(&out->msg, out->subject, NULL, data, (int)bytes) != NATS_OK)
        err = AX_E_NOMEM;
    if (err == AX_OK)
        add_headers(out->msg, headers);
    free(data);
    free(headers);
    return err;
}

static ax_err read_stored(const json_t *reply, struct stored *out, struct problem *p)
{
    const json_t *message = json_object_get(reply, "message");
    const char *subject = json_string_value(json_object_get(message, "subject"));
    if (subject != NULL) {
        snprintf(out->subject, sizeof(out->subject), "%s", subject);
        out->seq = (uint64_t)api_integer(message, "seq", 0);
        out->time_ns = api_time_ns(message, "time");
    }
    ax_err err = subject != NULL ? make_message(message, out) : AX_E_PROTOCOL;
    if (err == AX_E_PROTOCOL) {
        return problem_set(p, err, "the answer to a read of a stored message cannot be understood");
    }
    return err != AX_OK ? problem_set(p, err, "%s", ax_err_text(err)) : AX_OK;
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
