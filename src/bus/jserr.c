#include "bus/jserr.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum jserr_full jserr_full_of(const char *description)
{
    if (strstr(description, "per subject") != NULL)
        return JSERR_FULL_SUBJECT;
    if (strstr(description, "bytes") != NULL)
        return JSERR_FULL_BYTES;
    return strstr(description, "messages") != NULL ? JSERR_FULL_MESSAGES : JSERR_FULL_UNKNOWN;
}

uint64_t jserr_last_sequence(const char *description)
{
    const char *colon = strrchr(description, ':');
    return colon != NULL ? strtoull(colon + 1, NULL, 10) : 0;
}
