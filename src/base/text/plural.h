/* Words that follow a number. */
#ifndef AX_BASE_TEXT_PLURAL_H
#define AX_BASE_TEXT_PLURAL_H

#include <stdint.h>

/* "s", or nothing after 1: printf("%d letter%s", n, plural_s(n)). Static. */
static inline const char *plural_s(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Of the verb: printf("%d task%s wait%s", n, plural_s(n), plural_verb(n)). Static. */
static inline const char *plural_verb(int64_t n)
{
    return n == 1 ? "s" : "";
}

#endif
