#include "bus/puback.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void parse_error(const json_t *root, struct answer *a)
{
    const json_t *e = json_object_get(root, "error");
    if (e == NULL)
        return;
    a->err = AX_E_SERVER;
    a->code = (int)json_integer_value(json_object_get(e, "code"));
    a->err_code = (int)json_integer_value(json_object_get(e, "err_code"));
    const char *text = json_string_value(json_object_get(e, "description"));
    snprintf(a->description, sizeof(a->description), "%s", text != NULL ? text : "");
    if (a->err_code == JSERR_STORE_FULL)
        a->full_of = jserr_full_of(a->description);
    if (a->err_code == JSERR_WRONG_LAST_SEQ)
        a->last_seq = jserr_last_sequence(a->description);
}

static bool skip(const char **s, const char *end, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(end - *s) < n || memcmp(*s, text, n) != 0)
        return false;
    *s += n;
    return true;
}

/* What follows the sequence: nothing, or "duplicate" and, from ingress, "task" and "state", which
 * hold letters and digits. */
static bool parse_rest(const char *s, const char *end, struct answer *a)
{
    if (skip(&s, end, ",\"duplicate\":true"))
        a->duplicate = true;
    else
        skip(&s, end, ",\"duplicate\":false");
    if (skip(&s, end, ",\"task\":\"")) {
        while (s < end && isalnum((unsigned char)*s))
            s++;
        if (!skip(&s, end, "\",\"state\":\""))
            return false;
        while (s < end && isalnum((unsigned char)*s))
            s++;
        if (!skip(&s, end, "\""))
            return false;
    }
    return end - s == 1 && *s == '}';
}

/* The PubAck as nats-server and ingress write it, {"stream":"AX_HIGH","seq":42}, without building a
 * JSON tree for each of several messages a task. False: anything else, for the JSON library to
 * judge. */
static bool parse_plain_puback(const char *data, size_t bytes, struct answer *a)
{
    static const char head[] = "{\"stream\":\"", middle[] = "\",\"seq\":";
    const char *end = data + bytes, *name = data + sizeof(head) - 1;
    if (bytes < sizeof(head) + sizeof(middle) || memcmp(data, head, sizeof(head) - 1) != 0)
        return false;
    const char *quote = memchr(name, '"', (size_t)(end - name));
    if (quote == NULL || (size_t)(quote - name) >= sizeof(a->stream) ||
        end - quote < (ptrdiff_t)sizeof(middle) ||
        memchr(name, '\\', (size_t)(quote - name)) != NULL ||
        memcmp(quote, middle, sizeof(middle) - 1) != 0)
        return false;
    uint64_t seq = 0;
    const char *digit = quote + sizeof(middle) - 1;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
        if (__builtin_mul_overflow(seq, 10, &seq) ||
            __builtin_add_overflow(seq, (uint64_t)(*digit - '0'), &seq))
            return false;
    }
    if (!parse_rest(digit, end, a))
        return false;
    memcpy(a->stream, name, (size_t)(quote - name));
    a->stream[quote - name] = '\0';
    a->seq = seq;
    return true;
}

void puback_read(const char *data, size_t bytes, struct answer *a)
{
    if (parse_plain_puback(data, bytes, a))
        return;
    json_t *root = json_loadb(data, bytes, 0, NULL);
    if (!json_is_object(root)) {
        a->err = AX_E_PROTOCOL;
    } else {
        const char *stream = json_string_value(json_object_get(root, "stream"));
        snprintf(a->stream, sizeof(a->stream), "%s", stream != NULL ? stream : "");
        a->seq = (uint64_t)json_integer_value(json_object_get(root, "seq"));
        a->duplicate = json_is_true(json_object_get(root, "duplicate"));
        parse_error(root, a);
    }
    json_decref(root);
}
