/* Without memory: where a step can be refused, or left to the lease of its message, it is
 * (AX_E_NOMEM). Where half of a change cannot be undone, the process says so in one line and ends:
 * it is started again, and JetStream redelivers its work. */
#ifndef AX_BASE_MEMORY_H
#define AX_BASE_MEMORY_H

/* Logs "out of memory" and ends the process with code 1. what: constant text, what could not be
 * kept. Any thread. */
_Noreturn void memory_fatal(const char *what);

#endif
