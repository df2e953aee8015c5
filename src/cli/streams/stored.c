#include "cli/streams/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/rfc3339.h"
#include "bus/connect.h"
#include "bus/pipeline.h"
#include "bus/provision/provision.h"

#define API_TIMEOUT_MS 5000
#define PUBLISH_TIMEOUT_MS 2000
#define PUBLISH_TRIES 5

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

static ax_err parse_stored(const char *reply, struct stored *out, struct problem *p)
{
    json_t *root = json_loads(reply, 0, NULL);
    json_t *message = json_object_get(root, "message");
    const char *subject = json_string_value(json_object_get(message, "subject"));
    const char *when = json_string_value(json_object_get(message, "time"));
    const char *data64 = json_string_value(json_object_get(message, "data"));
    const char *headers64 = json_string_value(json_object_get(message, "hdrs"));
    size_t data_bytes = 0, header_bytes = 0;
    char *data = decode_base64(data64, &data_bytes);
    char *headers = decode_base64(headers64, &header_bytes);
    ax_err e = AX_OK;
    if (!subject || !data || !headers || data_bytes > INT32_MAX) {
        e = problem_set(p, AX_E_PROTOCOL,
                        "the answer to a read of a stored message cannot be understood");
    } else {
        snprintf(out->subject, sizeof(out->subject), "%s", subject);
        out->seq = (uint64_t)json_integer_value(json_object_get(message, "seq"));
        if (!when || !rfc3339_parse(when, &out->time_ns))
            out->time_ns = 0;
        if (natsMsg_Create(&out->msg, subject, NULL, data, (int)data_bytes) != NATS_OK)
            e = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
        else
            add_headers(out->msg, headers);
    }
    free(data);
    free(headers);
    json_decref(root);
    return e;
}

static ax_err get(natsConnection *nc, const char *stream, json_t *request, struct stored *out,
                  struct problem *p)
{
    *out = (struct stored){0};
    char what[128];
    snprintf(what, sizeof(what), "STREAM.MSG.GET.%s", stream);
    char *payload = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (!payload)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    char *reply = NULL;
    int err_code = 0;
    ax_err e = provision_api(nc, what, payload, API_TIMEOUT_MS, &reply, &err_code, p);
    free(payload);
    if (e == AX_E_SERVER && err_code == JSERR_NO_MESSAGE)
        e = AX_E_NOT_FOUND;
    else if (e == AX_E_SERVER && err_code == JSERR_STREAM_NOT_FOUND) {
        e = problem_set(p, AX_E_SERVER, "stream %s does not exist: create it with `ax init`",
                        stream);
    } else if (!e)
        e = parse_stored(reply, out, p);
    free(reply);
    return e;
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
    char what[128], payload[64];
    snprintf(what, sizeof(what), "STREAM.MSG.DELETE.%s", stream);
    snprintf(payload, sizeof(payload), "{\"seq\":%" PRIu64 ",\"no_erase\":true}", seq);
    char *reply = NULL;
    int err_code = 0;
    ax_err e = provision_api(nc, what, payload, API_TIMEOUT_MS, &reply, &err_code, p);
    free(reply);
    if (e == AX_E_SERVER && (err_code == JSERR_NO_MESSAGE || err_code == JSERR_SEQUENCE_NOT_FOUND))
        return AX_E_NOT_FOUND;
    return e;
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

ax_err stored_publish(natsConnection *nc, natsMsg *msg, int *err_code, struct problem *p)
{
    ax_err e = AX_E_TIMEOUT;
    if (err_code)
        *err_code = 0;
    for (int i = 0; i < PUBLISH_TRIES; i++) {
        natsMsg *reply = NULL;
        natsStatus s = natsConnection_RequestMsg(&reply, nc, msg, PUBLISH_TIMEOUT_MS);
        e = connect_error(s);
        if (s == NATS_NO_RESPONDERS)
            nats_Sleep(200);
        if (s == NATS_TIMEOUT || s == NATS_NO_RESPONDERS)
            continue;
        if (s != NATS_OK)
            return problem_set(p, e, "publish to %s: %s", natsMsg_GetSubject(msg), ax_err_text(e));
        json_t *root = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0,
                                  NULL);
        natsMsg_Destroy(reply);
        json_t *error = json_object_get(root, "error");
        if (!root) {
            e = problem_set(p, AX_E_PROTOCOL, "publish to %s: the answer is not JSON",
                            natsMsg_GetSubject(msg));
        } else if (error) {
            if (err_code)
                *err_code = (int)json_integer_value(json_object_get(error, "err_code"));
            const char *text = json_string_value(json_object_get(error, "description"));
            e = problem_set(p, AX_E_SERVER, "publish to %s: %s", natsMsg_GetSubject(msg),
                            text ? text : "refused");
        } else {
            e = AX_OK;
        }
        json_decref(root);
        return e;
    }
    return problem_set(p, e, "publish to %s: %s", natsMsg_GetSubject(msg), ax_err_text(e));
}
