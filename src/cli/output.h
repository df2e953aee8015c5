/* What commands print: one JSON value a line, fields, times. */
#ifndef AX_CLI_OUTPUT_H
#define AX_CLI_OUTPUT_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdint.h>

/* Prints value on one line and releases it. NULL: says that memory ran out. */
void output_json(json_t *value);
/* A JSON string of any bytes (what is not UTF-8 becomes '?'). */
json_t *output_text(const char *text);
/* RFC 3339, or null for 0. */
json_t *output_time(int64_t ns);
/* "350ms", "12s", "3m07s", "5h02m", "3d04h". Returns buf. */
char *output_seconds(int64_t ns, char buf[32]);

/* The same for seconds. */
char *output_span(double seconds, char buf[32]);

/* One line for each of these fields of the object o that is a number, a text or a boolean. */
void output_fields(const json_t *o, const char *const *fields, size_t count);
/* A task's body (borrowed), set off by an empty line. */
void output_body(natsMsg *msg);

#endif
