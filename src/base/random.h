/* Random numbers from the kernel, which nobody can guess. Everything random in AX begins here, so a
 * run can be repeated by linking another random.c in its place. Any thread. */
#ifndef AX_BASE_RANDOM_H
#define AX_BASE_RANDOM_H

#include <stdint.h>

/* 64 random bits. Ends the process where the kernel gives none, which does not happen once the
 * machine has booted. */
uint64_t random_u64(void);

/* Writes that many of 0-9A-Za-z into out, and a NUL behind them: out has chars + 1 bytes. One
 * system call. chars: 0 to RANDOM_NAME_MAX_CHARS. */
#define RANDOM_NAME_MAX_CHARS 32
void random_name(char *out, int chars);

#endif
