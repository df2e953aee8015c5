/* What is wrong, judged from what was read (view.h). Each finding is a function and a row in the
 * table beside it: check_daemons.c, check_streams.c, check_pools.c, check_load.c, check_ends.c.
 * Pure. */
#ifndef AX_CLI_DOCTOR_DIAGNOSIS_H
#define AX_CLI_DOCTOR_DIAGNOSIS_H

#include "cli/doctor/finding.h"
#include "cli/doctor/view.h"

/* Findings, worst first, and those of one severity in the order of a task's road. out is freed by
 * findings_free. */
void diagnosis_make(const struct view *v, struct findings *out);

#endif
