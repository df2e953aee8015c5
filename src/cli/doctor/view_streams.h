/* Reads the streams, their replicas and the account's limits into a view. Blocking. */
#ifndef AX_CLI_DOCTOR_VIEW_STREAMS_H
#define AX_CLI_DOCTOR_VIEW_STREAMS_H

#include "cli/doctor/view.h"

#define VIEW_STREAMS_MAX 64
#define VIEW_PEERS_MAX 32

/* v->priorities, v->streams and v->peers are there. The errors of provision_json; p says what is
 * wrong. nc: borrowed. */
ax_err view_streams_read(natsConnection *nc, struct view *v, struct problem *p);
/* What the account stores and may store; the same errors. */
ax_err view_streams_read_account(natsConnection *nc, struct view *v, struct problem *p);

#endif
