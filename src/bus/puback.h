/* A PubAck, the server's or that of ingress, taken apart. A parser of foreign input. Pure. */
#ifndef AX_BUS_PUBACK_H
#define AX_BUS_PUBACK_H

#include <stddef.h>

#include "bus/pipeline.h"

/* Reads the bytes of an answer to a publish into a, whose err is AX_OK: stream, seq, duplicate; or
 * err AX_E_SERVER with code, err_code, description and what follows from them; or AX_E_PROTOCOL. */
void puback_read(const char *data, size_t bytes, struct answer *a);

#endif
