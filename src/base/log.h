/* Logging: logfmt lines on stderr, "ts=… level=info msg="…" key=value …". Any thread. */
#ifndef AX_BASE_LOG_H
#define AX_BASE_LOG_H

#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Opens /dev/null in place of stdin, stdout and stderr where the process was started without:
 * otherwise the next socket would be one of them, and log lines would be written into it. First
 * thing in main. */
void log_reserve_streams(void);

/* program: name in every line ("ax-ingress"); borrowed, static. Also installs crash_init. */
void log_init(const char *program, enum log_level level);
/* Lines go there, each in one call with its newline, in place of stderr; NULL: to stderr. Set while
 * no other thread logs. */
void log_set_writer(void (*write)(const char *line, size_t bytes));
/* flush waits, for a moment at most, until what the writer took is written; it may run in a handler
 * of a signal. log_flush calls it: before the end of the process, and before others write to
 * stderr. */
void log_set_flush(void (*flush)(void));
void log_flush(void);
/* "error", "warn", "info", "debug"; -1 if none of them. */
int log_level_parse(const char *s);
/* msg: constant text; fields: the pairs after it as one printf format, with log_quote where a value
 * may hold spaces:
 *   log_line(LOG_WARN, "stream recreated", "stream=%s created=%s", name, when);
 * fields may be NULL. */
void log_line(enum log_level level, const char *msg, const char *fields, ...)
    __attribute__((format(printf, 3, 4)));
/* Quotes value for logfmt into buf (cap bytes, cut if needed): unchanged if it needs no quotes.
 * What could mislead a reader is escaped (base/text/safe_text.h), as it is everywhere in a line
 * that log_line writes. Returns buf. */
const char *log_quote(const char *value, char *buf, unsigned long cap);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

/* Lets at most one line through per interval, from a place that could repeat itself: static
 * struct log_gate g; if (log_gate_open(&g, now_ns, 1000000000LL, &suppressed)) … suppressed:
 * lines held back since the last one. */
struct log_gate {
    long long last_ns;
    unsigned long suppressed;
};
int log_gate_open(struct log_gate *g, long long now_ns, long long interval_ns,
                  unsigned long *suppressed);

/* A line that somebody else can cause at will, so at most one a minute: the next one says in a last
 * field, "suppressed=N", how many were held back. One gate a kind of line, static or zeroed; the
 * caller's lock guards it. now_ns: monotonic. */
#define LOG_LIMITED_NS 60000000000LL
void log_limited(struct log_gate *g, long long now_ns, enum log_level level, const char *msg,
                 const char *fields, ...) __attribute__((format(printf, 5, 6)));

#endif
