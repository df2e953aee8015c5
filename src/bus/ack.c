#include "bus/ack.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/saturate.h"
#include "base/text/go_text.h"
#include "base/text/subject.h"
#include "base/text/utf8.h"
#include "task/names.h"
#include "task/task.h"

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

/* A stream of AX's, which no domain is called like. Who may ack tasks of one pool has a right to
 * $JS.ACK.AX_WORK.<pool>. and whatever follows: read as the longer form, with AX_WORK for a domain
 * and the pool for a hash, the rest of it could name a task of another pool. */
static bool token_is_stream(const struct token *t)
{
    return t->bytes >= 3 && memcmp(t->at, "AX_", 3) == 0;
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
    if (count != SHORT && token_is_stream(&t[2])) {
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

bool ack_parse_subject_of(const char *subject, const char *stream, const char *consumer,
                          struct ack_subject *out)
{
    return ack_parse_subject(subject, out) && strcmp(out->stream, stream) == 0 &&
           strcmp(out->consumer, consumer) == 0 && subject_is_plain(subject, strlen(subject));
}

static int64_t nak_member_ms(json_t *root)
{
    int64_t ns = -1;
    if (!go_text_integer(root, "delay", &ns) || !go_text_member(root, "delay")) {
        return -1;
    }
    int64_t ms = ns > 0 ? ns / 1000000 + (ns % 1000000 != 0) : 0;
    return saturate_clamp(ms, 0, TASK_DELAY_MAX_MS);
}

static void read_nak(const char *data, size_t bytes, struct ack_payload *out)
{
    go_text_trim(&data, &bytes);
    if (bytes > 0 && data[0] != '{') {
        double ns;
        if (go_text_duration(data, bytes, &ns)) {
            out->delay_ms = ns > 0 ? saturate_clamp((int64_t)ceil(ns / 1e6), 0, TASK_DELAY_MAX_MS)
                                   : 0;
        }
        return;
    }
    json_t *root = bytes > 0 ? go_text_object(data, bytes) : NULL;
    if (root == NULL) {
        return;
    }
    out->delay_ms = nak_member_ms(root);
    out->given_back = json_is_true(json_object_get(root, "given_back"));
    if (out->given_back && out->delay_ms < 0) {
        out->delay_ms = 0;
    }
    json_decref(root);
}

/* The reason goes into a header, a log line and JSON: one line of valid UTF-8. */
static void copy_reason(char *out, size_t cap, const char *data, size_t bytes)
{
    go_text_trim(&data, &bytes);
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
        read_nak(data + 4, bytes - 4, out);
    } else if (equals(data, bytes, "+WPI")) {
        out->kind = ACK_PROGRESS;
    } else if (starts_with(data, bytes, "+TERM")) {
        out->kind = ACK_TERM;
        copy_reason(out->reason, sizeof(out->reason), data + 5, bytes - 5);
    }
}

const char *ack_nak(int64_t delay_ms, char buf[ACK_NAK_MAX])
{
    snprintf(buf, ACK_NAK_MAX, "-NAK {\"delay\":%" PRId64 "}", saturate_mul(delay_ms, 1000000));
    return buf;
}

void ack_send_nak(struct wire *w, const char *subject, int64_t delay_ms)
{
    char buf[ACK_NAK_MAX];
    wire_publish_text(w, subject, delay_ms > 0 ? ack_nak(delay_ms, buf) : ACK_TEXT_NAK);
}
