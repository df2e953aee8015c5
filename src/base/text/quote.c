#include "base/text/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUT "..."

const char *quote_bytes(const char *s, size_t bytes, char buf[QUOTE_MAX])
{
    size_t most = QUOTE_MAX - strlen("\"\"" CUT) - 1, shown = bytes < most ? bytes : most, n = 0;
    buf[n++] = '"';
    for (size_t i = 0; i < shown; i++)
        buf[n++] = s[i] >= ' ' && s[i] < 0x7f ? s[i] : '?';
    snprintf(buf + n, QUOTE_MAX - n, "%s\"", shown < bytes ? CUT : "");
    return buf;
}

const char *quote_text(const char *s, char buf[QUOTE_MAX])
{
    return quote_bytes(s, strlen(s), buf);
}

const char *quote_json(const json_t *value, char buf[QUOTE_MAX])
{
    int most = QUOTE_MAX - (int)strlen(CUT) - 1;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
    snprintf(buf, QUOTE_MAX, "%.*s%s", most, text != NULL ? text : "?",
             text != NULL && strlen(text) > (size_t)most ? CUT : "");
    free(text);
    return buf;
}
