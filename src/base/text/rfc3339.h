/* Times as text: RFC 3339. A parser of foreign input: strict, without locale, without overflow.
 * Pure. */
#ifndef AX_BASE_TEXT_RFC3339_H
#define AX_BASE_TEXT_RFC3339_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/rfc3339.h"

/* ns since the Unix epoch, with nanoseconds and Z ("2026-01-02T03:04:05.000000006Z"); buf at least
 * 32 bytes. Returns buf. */
char *rfc3339_format(int64_t ns, char *buf);

/* Parses "2026-01-02T03:04:05[.frac](Z|±hh:mm)". False: s is no such time (a leap second, ":60", is
 * none either), or lies outside of what *out_ns can hold. */
bool rfc3339_parse(const char *s, int64_t *out_ns);

#endif
