/* Why the command fails, for --json: scripts read one object on stdout also then. */
#ifndef AX_CLI_FAILURE_H
#define AX_CLI_FAILURE_H

#include <stdint.h>

/* say() notes what it has said; the last one stays. */
void failure_note(const char *text);
/* What a daemon or the server answered: code and err_code as in a PubAck, 0: none. retry_after_ms:
 * -1: not told. */
void failure_answer(int code, int err_code, int64_t retry_after_ms);
/* Prints {"error":{…}} for this exit code, unless the command has printed JSON already. */
void failure_print(int exit_code);

#endif
