/* What a fuzz target requires: says which condition did not hold, and dies, which is what libFuzzer
 * looks for. */
#ifndef AX_FUZZ_CHECK_H
#define AX_FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

#endif
