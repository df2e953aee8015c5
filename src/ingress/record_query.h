/* Answers requests to ax.record.<id>: what is recorded of a finished task, wherever its record is.
 * One of the instances answers. */
#ifndef AX_INGRESS_RECORD_QUERY_H
#define AX_INGRESS_RECORD_QUERY_H

#include "base/error.h"

struct ingress;

/* ing->key_index is set. */
ax_err record_query_start(struct ingress *ing);

#endif
