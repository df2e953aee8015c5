/* Signals of a command that runs until it is told to stop. */
#ifndef AX_CLI_SIGNALS_H
#define AX_CLI_SIGNALS_H

/* Blocks these signals for the whole process and returns a signalfd for them, non-blocking. To be
 * called before any thread exists, so that they arrive there and nowhere else. -1: errno. */
int signals_open(const int *signals, int count);

#endif
