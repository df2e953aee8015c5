#include "ingress/submit/answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/safe_text.h"
#include "task/header.h"

void answer_set_error(struct verdict *v, int code, int err_code, int64_t retry_after_ms,
                      const char *format, ...)
{
    va_list args;
    *v = (struct verdict){.code = code, .err_code = err_code, .retry_after_ms = retry_after_ms};
    va_start(args, format);
    vsnprintf(v->description, sizeof(v->description), format, args);
    va_end(args);
}

/* A character and the one after it. */
#define LOOK_AHEAD_BYTES 8

/* text as the inside of a JSON string; cut at a character's border when cap is reached. */
static void escape(const char *text, char *out, size_t cap)
{
    size_t used = 0;
    for (const char *s = text; *s != '\0' && used + 5 < cap;) {
        char unit[SAFE_TEXT_UNIT_MAX];
        size_t n = safe_text_unit(s, strnlen(s, LOOK_AHEAD_BYTES), SAFE_TEXT_MESSAGE, unit);
        if (strlen(unit) != n) {
            out[used++] = '?';
            s += n;
            continue;
        }
        if (*s == '"' || *s == '\\')
            out[used++] = '\\';
        memcpy(out + used, s, n);
        used += n;
        s += n;
    }
    out[used] = '\0';
}

size_t answer_format(const struct verdict *v, char *buf, size_t cap)
{
    int n;
    if (v->code == 0) {
        n = snprintf(buf, cap,
                     "{\"stream\":\"%s\",\"seq\":%" PRIu64
                     ",\"duplicate\":%s,\"task\":\"%s\",\"state\":\"%s\"}",
                     v->stream, v->seq, v->duplicate ? "true" : "false", v->task, v->state);
    } else {
        char text[2 * sizeof(v->description) + 8];
        escape(v->description, text, sizeof(text));
        n = snprintf(buf, cap, "{\"error\":{\"code\":%d,\"err_code\":%d,\"description\":\"%s\"}}",
                     v->code, v->err_code, text);
    }
    return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

void answer_send(struct wire *wire, const char *reply, const struct verdict *v)
{
    char body[ANSWER_MAX_BYTES];
    size_t bytes = answer_format(v, body, sizeof(body));
    if (v->retry_after_ms == 0) {
        wire_publish(wire, reply, body, bytes);
        return;
    }
    natsMsg *msg = NULL;
    char hint[32];
    snprintf(hint, sizeof(hint), "%" PRId64 "ms", v->retry_after_ms);
    if (natsMsg_Create(&msg, reply, NULL, body, (int)bytes) == NATS_OK &&
        header_set(msg, HDR_RETRY_AFTER, hint) == NATS_OK)
        wire_publish_msg(wire, msg);
    natsMsg_Destroy(msg);
}
