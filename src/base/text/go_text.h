/* JSON and durations as Go's standard library reads them, for what workers may write and
 * nats-server accepts. Parsers of foreign input. Pure functions. */
#ifndef AX_BASE_TEXT_GO_TEXT_H
#define AX_BASE_TEXT_GO_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes white space off both ends. */
void go_text_trim(const char **data, size_t *bytes);

/* A new reference to a JSON object; NULL: it is none. */
json_t *go_text_object(const char *data, size_t bytes);

/* A member by its name in any case of letters, as Go's decoder takes it; borrowed. NULL: none. */
json_t *go_text_member(json_t *object, const char *name);

/* An absent or null member leaves *out. False: another type, which Go's decoder refuses. */
bool go_text_integer(json_t *object, const char *name, int64_t *out);

/* time.ParseDuration ("1.5h", "300ms", "-2s", "1h10m", "0"). False: not one, or out of range. */
bool go_text_duration(const char *s, size_t bytes, double *ns);

#endif
