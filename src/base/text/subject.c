#include "base/text/subject.h"

#include <string.h>

bool subject_is_plain(const char *s, size_t chars)
{
    char before = '.';
    for (size_t i = 0; i < chars; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c <= ' ' || c == 0x7f || c == '*' || c == '>' || (c == '.' && before == '.'))
            return false;
        before = s[i];
    }
    return before != '.';
}

static bool begins(const char *s, size_t chars, const char *with)
{
    size_t n = strlen(with);
    return chars >= n && memcmp(s, with, n) == 0;
}

bool subject_is_inbox_prefix(const char *s, size_t chars)
{
    if (chars > SUBJECT_INBOX_PREFIX_MAX || !subject_is_plain(s, chars))
        return false;
    return s[0] != '$' && !begins(s, chars, "_R_") && !begins(s, chars, "_GR_") &&
           !begins(s, chars, "ax.") && !(chars == 2 && memcmp(s, "ax", 2) == 0);
}

bool subject_list_each(const char *list, bool (*each)(void *arg, const char *item, size_t chars),
                       void *arg)
{
    for (const char *at = list;; at++) {
        size_t chars = strcspn(at, ",");
        if (!each(arg, at, chars))
            return false;
        at += chars;
        if (*at == '\0')
            return true;
    }
}
