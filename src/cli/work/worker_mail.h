/* What each message means that arrives for `ax work`. The loop's thread. */
#ifndef AX_CLI_WORK_WORKER_MAIL_H
#define AX_CLI_WORK_WORKER_MAIL_H

#include "cli/work/worker.h"

/* Handles everything that is in the mailbox, in the order of arrival. */
void worker_mail_take(struct worker *w);
/* Asks for the INFO of the pool's consumer; the answer arrives in the mailbox. */
void worker_mail_ask_info(struct worker *w);

#endif
