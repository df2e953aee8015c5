/* Foreign text in an error message: in quotes, cut to a readable length, and plain ASCII in one
 * line, so that it can spoil neither a log line nor the JSON of an answer. */
#ifndef AX_BASE_TEXT_QUOTE_H
#define AX_BASE_TEXT_QUOTE_H

#include <jansson.h>
#include <stddef.h>

#define QUOTE_MAX 72

/* The first bytes bytes at s. Returns buf. */
const char *quote_bytes(const char *s, size_t bytes, char buf[QUOTE_MAX]);
/* The same for text that ends with NUL. */
const char *quote_text(const char *s, char buf[QUOTE_MAX]);
/* A JSON value as it was given; only text has quotes. Returns buf. */
const char *quote_json(const json_t *value, char buf[QUOTE_MAX]);

#endif
