#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/safe_text.h"

const char *ax_err_text(ax_err e)
{
    switch (e) {
#define X(name, text) \
    case name:        \
        return text;
        AX_ERRORS(X)
#undef X
    case AX_ERR_COUNT:
        break;
    }
    return "unknown error";
}

/* Texts end up in JSON answers, where half a UTF-8 character would spoil the whole answer. */
static void cut_at_character(char *s)
{
    size_t n = strlen(s);
    size_t back = 0;
    while (back < n && back < 4 && ((unsigned char)s[n - 1 - back] & 0xC0) == 0x80)
        back++;
    if (back < n && (unsigned char)s[n - 1 - back] >= 0xC0)
        s[n - 1 - back] = '\0';
}

ax_err problem_set(struct problem *p, ax_err err, const char *format, ...)
{
    if (p == NULL)
        return err;
    p->err = err;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(p->text, sizeof(p->text), format, args);
    va_end(args);
    if (n < 0) {
        p->text[0] = '\0';
    } else if ((size_t)n >= sizeof(p->text)) {
        cut_at_character(p->text);
    }
    for (char *c = p->text; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    }
    return err;
}

void error_print(const char *program, const char *text)
{
    char safe[SAFE_TEXT_GROWTH * sizeof(((struct problem *)NULL)->text)];
    safe_text(text, strlen(text), SAFE_TEXT_MESSAGE, safe, sizeof(safe));
    log_flush();
    fprintf(stderr, "%s: %s\n", program, safe);
}
