/* Why the tasks that wait for a pool become more: judged from what waits, how busy its workers are,
 * and what holds tasks back before them. Pure. */
#ifndef AX_CLI_DOCTOR_CHECK_LOAD_H
#define AX_CLI_DOCTOR_CHECK_LOAD_H

#include "cli/doctor/finding.h"
#include "cli/doctor/view.h"

/* Adds its findings about p to out. */
void check_load(const struct view *v, const struct view_pool *p, struct findings *out);

#endif
