/* Where the programs are that `ax up` starts. */
#ifndef AX_CLI_UP_PROGRAM_H
#define AX_CLI_UP_PROGRAM_H

#include <limits.h>

#include "base/error.h"

/* A nats-server that is new enough: $AX_NATS_SERVER alone when it is set, else the first suitable
 * one of PATH and of AX's cache. AX_E_NOT_FOUND, AX_E_VERSION: p says what to do. */
ax_err program_find_server(char path[PATH_MAX], char version[32], struct problem *p);
/* A program that lies beside this one, else on PATH. AX_E_NOT_FOUND: p says so. */
ax_err program_find(const char *name, char path[PATH_MAX], struct problem *p);

#endif
