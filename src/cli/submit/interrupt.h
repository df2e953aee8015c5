/* ^C and SIGTERM in a command that has something to say before it ends. */
#ifndef AX_CLI_SUBMIT_INTERRUPT_H
#define AX_CLI_SUBMIT_INTERRUPT_H

/* From now on the first SIGINT or SIGTERM is only noted; a second one ends the process. One that is
 * ignored, as under nohup, stays so. */
void interrupt_catch(void);
/* The signal that came; 0: none. */
int interrupt_signal(void);

#endif
