#include "bus/ack.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "task/names.h"

struct token {
    const char *at;
    size_t bytes;
};

static bool token_is(const struct token *t, const char *s)
{
    return strlen(s) == t->bytes && memcmp(t->at, s, t->bytes) == 0;
}

static bool token_copy(const struct token *t, char *out, size_t cap)
{
    if (t->bytes == 0 || t->bytes >= cap) {
        return false;
    }
    memcpy(out, t->at, t->bytes);
    out[t->bytes] = '\0';
    return true;
}

static bool token_number(const struct token *t, uint64_t *out)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->bytes; i++) {
        unsigned digit = (unsigned)(t->at[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, digit, &n)) {
            return false;
        }
    }
    *out = n;
    return t->bytes > 0;
}

bool ack_parse_subject(const char *subject, struct ack_subject *out)
{
    /* Of a longer form only the first 11 tokens mean anything; the server may append more. */
    enum { SHORT = 9, LONG = 11 };
    struct token t[LONG];
    size_t count = 0;
    for (const char *s = subject; s; count++) {
        const char *dot = strchrnul(s, '.');
        if (count < LONG) {
            t[count] = (struct token){s, (size_t)(dot - s)};
        }
        s = *dot ? dot + 1 : NULL;
    }
    if ((count != SHORT && count < LONG) || !token_is(&t[0], "$JS") || !token_is(&t[1], "ACK")) {
        return false;
    }
    const struct token *f = count == SHORT ? t + 2 : t + 4;
    uint64_t timestamp;
    if (!token_copy(&f[0], out->stream, sizeof(out->stream)) ||
        !token_copy(&f[1], out->consumer, sizeof(out->consumer)) ||
        !token_number(&f[2], &out->delivered) || !token_number(&f[3], &out->stream_seq) ||
        !token_number(&f[4], &out->consumer_seq) || !token_number(&f[5], &timestamp) ||
        timestamp > INT64_MAX || !token_number(&f[6], &out->pending)) {
        return false;
    }
    out->timestamp_ns = (int64_t)timestamp;
    return true;
}

static void trim(const char **data, size_t *bytes)
{
    while (*bytes && isspace((unsigned char)**data)) {
        ++*data;
        --*bytes;
    }
    while (*bytes && isspace((unsigned char)(*data)[*bytes - 1])) {
        --*bytes;
    }
}

static json_t *parse_object(const char *data, size_t bytes)
{
    json_t *root = json_loadb(data, bytes, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return NULL;
    }
    return root;
}

/* Go's decoder takes member names in any case of letters. */
static json_t *member(json_t *object, const char *name)
{
    json_t *found = json_object_get(object, name);
    const char *key;
    json_t *value;
    if (!found) {
        json_object_foreach(object, key, value) {
            if (strcasecmp(key, name) == 0) {
                found = value;
            }
        }
    }
    return found;
}

/* An absent or null member leaves *out; false: another type, which the server's decoder refuses. */
static bool member_integer(json_t *object, const char *name, int64_t *out)
{
    json_t *v = member(object, name);
    if (!v || json_is_null(v)) {
        return true;
    }
    if (!json_is_integer(v)) {
        return false;
    }
    *out = json_integer_value(v);
    return true;
}

/* Go's time.ParseDuration ("1.5h", "300ms", "-2s", "1h10m"), which the server accepts behind
 * -NAK. */
static bool parse_go_duration(const char *s, size_t bytes, double *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},        {"h", 3600e9}};
    char text[64];
    if (bytes == 0 || bytes >= sizeof(text)) {
        return false;
    }
    memcpy(text, s, bytes);
    text[bytes] = '\0';
    const char *c = text;
    double sign = *c == '-' ? -1 : 1;
    if (*c == '-' || *c == '+') {
        c++;
    }
    *ns = 0;
    if (strcmp(c, "0") == 0) {
        return true;
    }
    do {
        size_t digits = strspn(c, "0123456789.");
        size_t unit_len = strcspn(c + digits, "0123456789.");
        if (digits == 0 || strspn(c, ".") == digits ||
            memchr(c, '.', digits) != memrchr(c, '.', digits)) {
            return false;
        }
        double factor = 0;
        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
            if (strlen(units[i].name) == unit_len &&
                memcmp(units[i].name, c + digits, unit_len) == 0) {
                factor = units[i].ns;
            }
        }
        if (factor == 0) {
            return false;
        }
        *ns += sign * strtod(c, NULL) * factor;
        c += digits + unit_len;
    } while (*c);
    return fabs(*ns) < 9.2e18;
}

static int64_t nak_delay_ms(const char *data, size_t bytes)
{
    trim(&data, &bytes);
    if (bytes == 0) {
        return -1;
    }
    if (data[0] != '{') {
        double ns;
        if (!parse_go_duration(data, bytes, &ns)) {
            return -1;
        }
        return ns > 0 ? (int64_t)ceil(ns / 1e6) : 0;
    }
    json_t *root = parse_object(data, bytes);
    int64_t ns = -1;
    int64_t ms = -1;
    if (root && member_integer(root, "delay", &ns) && member(root, "delay")) {
        ms = ns > 0 ? ns / 1000000 + (ns % 1000000 != 0) : 0;
    }
    json_decref(root);
    return ms;
}

/* The reason goes into a header, a log line and JSON: one line of valid UTF-8. */
static void copy_reason(char *out, size_t cap, const char *data, size_t bytes)
{
    trim(&data, &bytes);
    size_t used = 0;
    for (size_t i = 0; i < bytes;) {
        size_t n = utf8_length(data + i, bytes - i);
        if (used + (n ? n : 1) >= cap) {
            break;
        }
        if (n == 0) {
            out[used++] = '?';
            i++;
            continue;
        }
        memcpy(out + used, data + i, n);
        if (n == 1 && iscntrl((unsigned char)data[i])) {
            out[used] = ' ';
        }
        used += n;
        i += n;
    }
    while (used && out[used - 1] == ' ') {
        used--;
    }
    out[used] = '\0';
}

static bool starts_with(const char *data, size_t bytes, const char *word)
{
    size_t n = strlen(word);
    return bytes >= n && memcmp(data, word, n) == 0;
}

static bool equals(const char *data, size_t bytes, const char *word)
{
    return bytes == strlen(word) && memcmp(data, word, bytes) == 0;
}

void ack_parse_payload(const char *data, size_t bytes, struct ack_payload *out)
{
    *out = (struct ack_payload){.kind = ACK_UNKNOWN, .delay_ms = -1, .next = ""};
    if (bytes == 0 || equals(data, bytes, "+ACK") || equals(data, bytes, "+OK")) {
        out->kind = ACK_ACK;
    } else if (starts_with(data, bytes, "+NXT")) {
        out->kind = ACK_NEXT;
        out->next = data + 4;
        out->next_bytes = bytes - 4;
    } else if (starts_with(data, bytes, "-NAK")) {
        out->kind = ACK_NAK;
        out->delay_ms = nak_delay_ms(data + 4, bytes - 4);
    } else if (equals(data, bytes, "+WPI")) {
        out->kind = ACK_PROGRESS;
    } else if (starts_with(data, bytes, "+TERM")) {
        out->kind = ACK_TERM;
        copy_reason(out->reason, sizeof(out->reason), data + 5, bytes - 5);
    }
}

static bool pull_parse_json(const char *data, size_t bytes, struct pull_request *out)
{
    json_t *root = parse_object(data, bytes);
    if (!root) {
        return false;
    }
    int64_t heartbeat = 0, max_bytes = 0, batch = 0, expires = 0;
    json_t *no_wait = member(root, "no_wait");
    bool ok = member_integer(root, "batch", &batch) && member_integer(root, "expires", &expires) &&
              member_integer(root, "idle_heartbeat", &heartbeat) &&
              member_integer(root, "max_bytes", &max_bytes) &&
              (!no_wait || json_is_boolean(no_wait) || json_is_null(no_wait));
    out->batch = batch;
    out->expires_ns = expires;
    out->no_wait = json_is_true(no_wait);
    json_decref(root);
    /* A pull with negative expiry has expired before it is served. */
    return ok && expires >= 0 && (heartbeat <= 0 || heartbeat <= expires / 2);
}

bool pull_parse(const char *data, size_t bytes, struct pull_request *out)
{
    *out = (struct pull_request){.batch = 1};
    trim(&data, &bytes);
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
            out->batch = n;
        }
    }
    /* The server serves one message to a request for none or fewer. */
    if (out->batch < 1) {
        out->batch = 1;
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
