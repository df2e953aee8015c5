/* What ingress answers, in the words of the command line. Pure. */
#ifndef AX_CLI_SUBMIT_ANSWER_TEXT_H
#define AX_CLI_SUBMIT_ANSWER_TEXT_H

#include <stddef.h>

/* Copies text to out: where ingress names headers, which programs set, a person has given flags
 * ("--cron" for "Ax-Cron"); waits are in round numbers ("60s" for "60000ms"). */
void answer_text_for_people(const char *text, char *out, size_t cap);

#endif
