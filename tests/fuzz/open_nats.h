/* For a fuzz target that makes messages: nats.c cannot destroy one before it is opened. */
#ifndef AX_FUZZ_OPEN_NATS_H
#define AX_FUZZ_OPEN_NATS_H

#include <nats/nats.h>

#include "check.h"

/* Called by libFuzzer, once. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    CHECK(nats_Open(-1) == NATS_OK);
    return 0;
}

#endif
