/* Times and durations from headers: what is accepted must come back the same from its own text. */
#include <stdlib.h>
#include <string.h>

#include "base/text/duration.h"
#include "base/text/rfc3339.h"
#include "check.h"

static void check_time(const char *s)
{
    int64_t ns, back;
    char buf[32];
    if (rfc3339_parse(s, &ns)) {
        CHECK(strlen(rfc3339_format(ns, buf)) == 30);
        CHECK(rfc3339_parse(buf, &back) && back == ns);
    }
}

static void check_duration(const char *s)
{
    int64_t ms, back;
    char buf[48];
    if (duration_parse(s, INT64_MAX, &ms)) {
        CHECK(ms >= 0);
        CHECK(duration_parse(duration_format(ms, buf), ms, &back) && back == ms);
        CHECK(ms == 0 || !duration_parse(s, ms - 1, &back));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = malloc(size + 1), buf[32];
    CHECK(s != NULL);
    memcpy(s, data, size);
    s[size] = '\0';
    check_time(s);
    check_duration(s);
    free(s);
    int64_t ns, back;
    if (size >= sizeof(ns)) { /* any number is a time that can be written */
        memcpy(&ns, data, sizeof(ns));
        CHECK(rfc3339_parse(rfc3339_format(ns, buf), &back) && back == ns);
    }
    return 0;
}
