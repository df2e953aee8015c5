/* Reads what `ax doctor` judges from the server and from the daemons (diagnosis.h). Blocking. */
#ifndef AX_CLI_DOCTOR_DOCTOR_VIEW_H
#define AX_CLI_DOCTOR_DOCTOR_VIEW_H

#include <nats/nats.h>

#include "cli/doctor/diagnosis.h"

/* Reads as much as answers; what does not is told in out->trouble. Released by view_free in any
 * case. AX_E_NOMEM only. / */
ax_err view_read(natsConnection *nc, struct view *out, struct problem *p);
void view_free(struct view *v);

#endif
