#include "base/text/url.h"

#include <ctype.h>
#include <string.h>

#define SCHEME_END "://"
#define MASK "***"

struct part {
    size_t secret_chars; /* from its beginning */
    size_t chars;
};

/* The "://" of the next URL in text; NULL: none. One that stands in the middle of something, as in
 * a password, begins no URL. */
static const char *next_url(const char *text)
{
    for (const char *at = strstr(text, SCHEME_END); at != NULL; at = strstr(at + 1, SCHEME_END)) {
        const char *scheme = at;
        while (scheme > text && isalnum((unsigned char)scheme[-1]))
            scheme--;
        if (scheme == text || strchr(", \t\"'(=", scheme[-1]) != NULL)
            return at;
    }
    return NULL;
}

/* The part of text from its beginning, or from behind a "://", to behind the next "://". */
static struct part next_part(const char *text)
{
    const char *next = next_url(text);
    struct part p = {.chars = next != NULL ? (size_t)(next - text) : strlen(text)};
    for (size_t i = 0; i < p.chars; i++) {
        if (text[i] == '@')
            p.secret_chars = i;
    }
    if (next != NULL)
        p.chars += strlen(SCHEME_END);
    return p;
}

static size_t append(char *buf, size_t used, size_t cap, const char *text, size_t chars)
{
    size_t room = cap - 1 - used;
    chars = chars < room ? chars : room;
    memcpy(buf + used, text, chars);
    return used + chars;
}

const char *url_redact(const char *text, char *buf, size_t cap)
{
    size_t used = 0;
    if (cap == 0)
        return buf;
    while (*text != '\0') {
        struct part p = next_part(text);
        if (p.secret_chars > 0)
            used = append(buf, used, cap, MASK, strlen(MASK));
        used = append(buf, used, cap, text + p.secret_chars, p.chars - p.secret_chars);
        text += p.chars;
    }
    buf[used] = '\0';
    return buf;
}

void url_blank(char *text)
{
    while (*text != '\0') {
        struct part p = next_part(text);
        memset(text, 'x', p.secret_chars);
        text += p.chars;
    }
}
