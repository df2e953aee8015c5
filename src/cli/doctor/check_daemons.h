/* What is wrong with the server's answers, the ingresses and the dispatchers. Pure. */
#ifndef AX_CLI_DOCTOR_CHECK_DAEMONS_H
#define AX_CLI_DOCTOR_CHECK_DAEMONS_H

#include "cli/doctor/finding.h"
#include "cli/doctor/view.h"

/* Adds its findings to out. */
void check_daemons(const struct view *v, struct findings *out);

#endif
