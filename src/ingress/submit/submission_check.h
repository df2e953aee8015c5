/* The checks of a submission that need to know more than its message. Lock of the loop held. */
#ifndef AX_INGRESS_SUBMIT_SUBMISSION_CHECK_H
#define AX_INGRESS_SUBMIT_SUBMISSION_CHECK_H

#include "ingress/submit/submission.h"

/* Priority, size, schedule, times, pool. Ends with one event: VALID (then its queue, the time it is
 * due, its stamp and the places that may have its key are set), REFUSED, or UNREADY. */
void submission_check(struct submission *s);

#endif
