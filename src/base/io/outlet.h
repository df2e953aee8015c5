/* The way to stderr for a program that must never wait for whoever reads it: a bounded buffer, and
 * a thread that empties it. What does not fit is dropped, counted in lines, and
 * said in the log once somebody reads again. Any thread.
 *
 * Not started, or started in vain, writes go to stderr at once, and wait. */
#ifndef AX_BASE_IO_OUTLET_H
#define AX_BASE_IO_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts the thread, which has the caller's signal mask, and sends log lines this way, too
 * (log_set_writer, log_set_flush). False: no memory, no thread (errno). */
bool outlet_start(void);
/* Takes all of it or none, and leaves room for log lines. It should end with a newline: then lines
 * of others come between lines only. Sets no errno. */
void outlet_write(const char *text, size_t bytes);
/* How many lines were dropped in all. */
uint64_t outlet_dropped(void);
/* Waits at most wait_ms until all is written, then ends the thread. Where nobody reads, what is
 * left is lost. Called once, by the thread that started it. */
void outlet_stop(int64_t wait_ms);

#endif
