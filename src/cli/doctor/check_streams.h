/* What is wrong with the streams, their replicas, and what the account may store. Pure. */
#ifndef AX_CLI_DOCTOR_CHECK_STREAMS_H
#define AX_CLI_DOCTOR_CHECK_STREAMS_H

#include "cli/doctor/finding.h"
#include "cli/doctor/view.h"

/* Adds its findings to out. */
void check_streams(const struct view *v, struct findings *out);

/* The stream has reached one of its bounds, or nearly. */
bool check_streams_is_full(const struct view_stream *s);

#endif
