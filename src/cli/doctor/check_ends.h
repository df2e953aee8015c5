/* What is wrong with how a pool's attempts end, judged from the last minutes. Pure. */
#ifndef AX_CLI_DOCTOR_CHECK_ENDS_H
#define AX_CLI_DOCTOR_CHECK_ENDS_H

#include "cli/doctor/finding.h"
#include "cli/doctor/view.h"

/* Adds its findings about p to out: none where no dispatcher told of the pool. */
void check_ends(const struct view *v, const struct view_pool *p, struct findings *out);

#endif
