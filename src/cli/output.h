/* What commands print: one JSON value a line, fields, times.
 *
 * This is the one way to standard output (house.output). On a terminal it makes foreign text safe
 * (base/text/safe_text.h); into a pipe or a file every byte goes as it is. */
#ifndef AX_CLI_OUTPUT_H
#define AX_CLI_OUTPUT_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

/* printf. On a terminal each %s is safe, so that text from a task needs nothing else. Conversions:
 * those of safe_format (base/text/safe_format.h). */
void output_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A paragraph that ax itself has written, set off by an empty line; it may have several lines. */
void output_own(const char *text);
/* How wide output_print shows the text, in columns of a terminal; else in characters. */
size_t output_columns(const char *text);
/* Prints value on one line and releases it. NULL: says that memory ran out. On a terminal what is
 * not safe has JSON's own escapes, so that the value is the same. */
void output_json(json_t *value);
/* True: output_json was called. */
bool output_has_json(void);
/* A JSON string of any bytes (what is not UTF-8 becomes '?'). */
json_t *output_text(const char *text);
/* RFC 3339, or null for 0. */
json_t *output_time(int64_t ns);
/* An RFC 3339 time for people: to the millisecond, which is more than they read. text: any; what is
 * no such time is copied. Returns buf. */
char *output_when(const char *text, char buf[48]);
/* "350ms", "12s", "3m07s", "5h02m", "3d04h". Returns buf. */
char *output_seconds(int64_t ns, char buf[32]);

/* The same for seconds. */
char *output_span(double seconds, char buf[32]);

/* One line for each of these fields of the object o that is a number, a text or a boolean. */
void output_fields(const json_t *o, const char *const *fields, size_t count);
/* A task's body (borrowed), set off by an empty line. On a terminal it is safe but for newlines and
 * tabs. */
void output_body(natsMsg *msg);

/* The end of the program, whose exit code was to be code: writes what is left. What could not be
 * written is said, and is a failure; a pipe that its reader has closed is none. */
int output_end(int code);

#endif
