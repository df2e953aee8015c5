/* The payload of a pull request. */
#include <stdio.h>
#include <stdlib.h>

#include "bus/pull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pull_request r;
    if (pull_parse((const char *)data, size, &r) && (r.batch < 1 || r.expires_ns < 0)) {
        fprintf(stderr, "batch %lld, expires %lld\n", (long long)r.batch, (long long)r.expires_ns);
        abort();
    }
    return 0;
}
