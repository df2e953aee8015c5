#include "bus/pull.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/text/go_text.h"

static bool pull_parse_json(const char *data, size_t bytes, struct pull_request *out)
{
    json_t *root = go_text_object(data, bytes);
    if (!root) {
        return false;
    }
    int64_t heartbeat = 0, max_bytes = 0, batch = 0, expires = 0;
    json_t *no_wait = go_text_member(root, "no_wait");
    bool ok = go_text_integer(root, "batch", &batch) &&
              go_text_integer(root, "expires", &expires) &&
              go_text_integer(root, "idle_heartbeat", &heartbeat) &&
              go_text_integer(root, "max_bytes", &max_bytes) &&
              (!no_wait || json_is_boolean(no_wait) || json_is_null(no_wait));
    out->batch = saturate_clamp(batch, 1, PULL_BATCH_MAX);
    out->expires_ns = saturate_clamp(expires, 0, PULL_EXPIRES_MAX_NS);
    out->heartbeat_ns = saturate_clamp(heartbeat, 0, PULL_EXPIRES_MAX_NS);
    out->no_wait = json_is_true(no_wait);
    json_decref(root);
    /* A pull with negative expiry has expired before it is served. */
    return ok && expires >= 0 && (heartbeat <= 0 || heartbeat <= expires / 2);
}

bool pull_parse(const char *data, size_t bytes, struct pull_request *out)
{
    *out = (struct pull_request){.batch = 1};
    go_text_trim(&data, &bytes);
    if (bytes && data[0] == '{' && !pull_parse_json(data, bytes, out)) {
        return false;
    }
    if (bytes && bytes < 20 && data[0] != '{') {
        char text[20];
        memcpy(text, data, bytes);
        text[bytes] = '\0';
        char *end;
        errno = 0;
        long long n = strtoll(text, &end, 10);
        if (errno == 0 && end == text + bytes) {
            out->batch = saturate_clamp(n, 1, PULL_BATCH_MAX);
        }
    }
    return true;
}

bool pull_parse_subject(const char *subject, char pool[NAME_MAX_CHARS + 1])
{
    static const char tail[] = "API.CONSUMER.MSG.NEXT." STREAM_WORK ".";
    if (strncmp(subject, "$JS.", 4) != 0) {
        return false;
    }
    const char *s = subject + 4;
    if (strncmp(s, tail, sizeof(tail) - 1) != 0) {
        /* One more token is a domain. */
        s = strchr(s, '.');
        if (!s || s == subject + 4 || strncmp(++s, tail, sizeof(tail) - 1) != 0) {
            return false;
        }
    }
    s += sizeof(tail) - 1;
    if (!name_is_valid(s)) {
        return false;
    }
    strcpy(pool, s);
    return true;
}
