/* Errors of AX: one enum, and one map with every text (AX_ERRORS).
 *
 * Functions that can fail return an ax_err: AX_OK (0) or one of these. Where a person needs more
 * than the code (which field, which value, what is allowed), the function takes a `struct
 * problem *` and fills it in. */
#ifndef AX_BASE_ERROR_H
#define AX_BASE_ERROR_H

#define AX_ERRORS(X)                                                            \
    X(AX_OK, "ok")                                                              \
    X(AX_E_NOMEM, "out of memory")                                              \
    X(AX_E_INVALID, "invalid value")                                            \
    X(AX_E_TOO_LONG, "too long")                                                \
    X(AX_E_NOT_FOUND, "not found")                                              \
    X(AX_E_EXISTS, "already there")                                             \
    X(AX_E_FULL, "full")                                                        \
    X(AX_E_TIMEOUT, "no answer in time")                                        \
    X(AX_E_NO_RESPONDERS, "nobody listens there (JetStream off, or no leader)") \
    X(AX_E_DISCONNECTED, "not connected")                                       \
    X(AX_E_AUTH, "not authorized")                                              \
    X(AX_E_SERVER, "the server answered with an error")                         \
    X(AX_E_PROTOCOL, "an answer that cannot be understood")                     \
    X(AX_E_VERSION, "the server is too old")                                    \
    X(AX_E_BUSY, "too much in flight")                                          \
    X(AX_E_CLOSED, "closed")                                                    \
    X(AX_E_IO, "input/output error")

typedef enum {
#define X(name, text) name,
    AX_ERRORS(X)
#undef X
        AX_ERR_COUNT
} ax_err;

/* The text of an error. Static; never NULL, also for numbers that are no error. Any thread. */
const char *ax_err_text(ax_err e);

/* What is wrong, in one line for a person: names the field, the value given and what is allowed. */
struct problem {
    ax_err err;
    char text[384]; /* NUL-terminated, cut if longer; no newline */
};

/* Fills in *p (may be NULL) and returns err, so that `return problem_set(p, AX_E_INVALID, "…", …)`
 * reads well. */
ax_err problem_set(struct problem *p, ax_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "program: text" as a line on stderr, for a daemon that does not log yet. What could mislead a
 * reader is escaped (base/text/safe_text.h). */
void error_print(const char *program, const char *text);

#endif
