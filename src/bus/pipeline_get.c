#include "bus/pipeline_get.h"

#include <inttypes.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/rfc3339.h"
#include "bus/api.h"

struct get {
    pipeline_get_cb cb;
    void *arg;
};

/* base64 text to bytes, NUL-terminated for the caller's convenience. */
static ax_err decode(const char *text, char **decoded, size_t *bytes)
{
    size_t n = strlen(text);
    char *out = malloc(n / 4 * 3 + 1);
    if (out == NULL)
        return AX_E_NOMEM;
    int got = n == 0 ? 0
                     : EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)text, (int)n);
    if (got < 0) {
        free(out);
        return AX_E_PROTOCOL;
    }
    for (size_t i = n; i > 0 && text[i - 1] == '=' && n - i < 2; i--)
        got--; /* EVP_DecodeBlock counts padding as bytes */
    out[got] = '\0';
    *bytes = (size_t)got;
    *decoded = out;
    return AX_OK;
}

/* "NATS/1.0\r\nName: value\r\n…\r\n": into the message's headers. What is no header is left out. */
static ax_err add_headers(natsMsg *msg, char *block)
{
    char *save = NULL;
    char *line = strtok_r(block, "\r\n", &save); /* status line */
    while (line != NULL && (line = strtok_r(NULL, "\r\n", &save)) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL)
            continue;
        *colon++ = '\0';
        colon += strspn(colon, " \t");
        if (natsMsgHeader_Add(msg, line, colon) == NATS_NO_MEMORY)
            return AX_E_NOMEM;
    }
    return AX_OK;
}

ax_err pipeline_get_read(const json_t *answer, struct stored_msg *out)
{
    const json_t *m = json_object_get(answer, "message");
    const char *subject = json_string_value(json_object_get(m, "subject"));
    const char *time = json_string_value(json_object_get(m, "time"));
    const char *hdrs = json_string_value(json_object_get(m, "hdrs"));
    const char *data = json_string_value(json_object_get(m, "data"));
    *out = (struct stored_msg){.subject = subject, .seq = (uint64_t)api_integer(m, "seq", 0)};
    if (subject == NULL || time == NULL || !rfc3339_parse(time, &out->time_ns))
        return AX_E_PROTOCOL;
    size_t data_bytes = 0, block_bytes = 0;
    char *body = NULL, *block = NULL;
    ax_err err = decode(data != NULL ? data : "", &body, &data_bytes);
    if (err == AX_OK)
        err = decode(hdrs != NULL ? hdrs : "", &block, &block_bytes);
    if (err == AX_OK && natsMsg_Create(&out->msg, subject, NULL, body, (int)data_bytes) != NATS_OK)
        err = AX_E_NOMEM;
    if (err == AX_OK)
        err = add_headers(out->msg, block);
    if (err != AX_OK) {
        natsMsg_Destroy(out->msg);
        out->msg = NULL;
    }
    free(body);
    free(block);
    return err;
}

static void on_answer(void *arg, const struct answer *a)
{
    struct get *g = arg;
    struct stored_msg found = {0};
    ax_err err = a->err;
    json_t *root = NULL;
    if (err == AX_OK) {
        struct api_answer read;
        api_read(natsMsg_GetData(a->reply), (size_t)natsMsg_GetDataLength(a->reply), &read, &root);
        err = read.err == AX_OK ? pipeline_get_read(root, &found) : read.err;
        if (read.err_code == JSERR_NO_MESSAGE)
            err = AX_E_NOT_FOUND;
    }
    g->cb(g->arg, err, err == AX_OK ? &found : NULL);
    natsMsg_Destroy(found.msg);
    json_decref(root);
    free(g);
}

ax_err pipeline_get(struct pipeline *p, const char *stream, const char *subject, uint64_t seq,
                    int64_t timeout_ms, pipeline_get_cb cb, void *arg)
{
    char api[128], body[320];
    struct get *g = malloc(sizeof(*g));
    if (g == NULL)
        return AX_E_NOMEM;
    g->cb = cb;
    g->arg = arg;
    snprintf(api, sizeof(api), "$JS.API.STREAM.MSG.GET.%s", stream);
    int n;
    if (subject == NULL)
        n = snprintf(body, sizeof(body), "{\"seq\":%" PRIu64 "}", seq);
    else if (seq == 0)
        n = snprintf(body, sizeof(body), "{\"last_by_subj\":\"%s\"}", subject);
    else {
        n = snprintf(body, sizeof(body), "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\"}", seq,
                     subject);
    }
    ax_err err = pipeline_request(p, api, body, (size_t)n, timeout_ms, on_answer, g);
    if (err != AX_OK)
        free(g);
    return err;
}
