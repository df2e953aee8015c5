#include "base/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/text/safe_text.h"

/* At most PIPE_BUF, so that lines of several processes on one pipe do not mix. */
#define LINE_MAX_BYTES 2048

#define SUPPRESSED_MAX 40 /* " suppressed=" and a number */

static void (*writer)(const char *line, size_t bytes);
static void (*flush)(void);
static const char *program_name = "ax";
static enum log_level threshold = LOG_INFO;
static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_reserve_streams(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR);
    if (fd > STDERR_FILENO)
        close(fd);
}

void log_init(const char *program, enum log_level level)
{
    program_name = program;
    crash_init(program);
    threshold = level;
}

void log_set_writer(void (*write)(const char *line, size_t bytes))
{
    writer = write;
}

void log_set_flush(void (*wait)(void))
{
    flush = wait;
}

void log_flush(void)
{
    if (flush != NULL)
        flush();
}

int log_level_parse(const char *s)
{
    for (int i = LOG_ERROR; i <= LOG_DEBUG; i++) {
        if (strcmp(s, level_names[i]) == 0)
            return i;
    }
    return -1;
}

static bool is_plain(const char *s)
{
    return *s != '\0' && strpbrk(s, " \"=\\") == NULL && safe_text_is_plain(s, strlen(s));
}

/* The character at s, of `bytes` in all, as it stands between quotes. Returns how many bytes of s
 * it stands for. */
static size_t quote_unit(const char *s, size_t bytes, char unit[SAFE_TEXT_UNIT_MAX])
{
    if (*s == '"' || *s == '\\')
        snprintf(unit, SAFE_TEXT_UNIT_MAX, "\\%c", *s);
    else if (*s == '\n')
        strcpy(unit, "\\n");
    else
        return safe_text_unit(s, bytes, SAFE_TEXT_MESSAGE, unit);
    return 1;
}

const char *log_quote(const char *value, char *buf, unsigned long cap)
{
    /* Two quotes, NUL. */
    if (cap < 3) {
        if (cap > 0)
            buf[0] = '\0';
        return buf;
    }
    size_t bytes = strlen(value), n = 0;
    if (is_plain(value) && bytes < cap)
        return strcpy(buf, value);
    buf[n++] = '"';
    for (size_t at = 0; at < bytes;) {
        char unit[SAFE_TEXT_UNIT_MAX];
        at += quote_unit(value + at, bytes - at, unit);
        if (strlen(unit) > cap - n - 2)
            break;
        n += strlen(strcpy(buf + n, unit));
    }
    buf[n++] = '"';
    buf[n] = '\0';
    return buf;
}

/* Appends, keeping *used below cap - 1 so that the newline always has room. */
__attribute__((format(printf, 4, 0))) static void append(char *line, size_t cap, size_t *used,
                                                         const char *format, va_list args)
{
    int n = vsnprintf(line + *used, cap - 1 - *used, format, args);
    if (n > 0) {
        size_t left = cap - 2 - *used;
        *used += (size_t)n < left ? (size_t)n : left;
    }
}

__attribute__((format(printf, 4, 5))) static void appendf(char *line, size_t cap, size_t *used,
                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append(line, cap, used, format, args);
    va_end(args);
}

/* line: without newline. What log_quote did not see is escaped here. */
static void send_line(char *line, size_t bytes)
{
    char safe[LINE_MAX_BYTES];
    char *out = line;
    if (!safe_text_is_plain(line, bytes)) {
        bytes = safe_text(line, bytes, SAFE_TEXT_MESSAGE, safe, sizeof(safe) - 1);
        out = safe;
    }
    out[bytes++] = '\n';
    if (writer != NULL) {
        writer(out, bytes);
        return;
    }
    /* When stderr is gone, nobody can be told. */
    ssize_t written = write(STDERR_FILENO, out, bytes);
    (void)written;
}

/* suppressed 0: it is not said. */
__attribute__((format(printf, 3, 0))) static void write_line(enum log_level level, const char *msg,
                                                             const char *fields, va_list args,
                                                             unsigned long suppressed)
{
    char line[LINE_MAX_BYTES];
    char quoted[512];
    size_t used = 0;

    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    used = strftime(line, sizeof(line), "ts=%Y-%m-%dT%H:%M:%S", &tm);
    appendf(line, sizeof(line), &used, ".%03ldZ level=%s program=%s msg=%s", now.tv_nsec / 1000000,
            level_names[level], program_name, log_quote(msg, quoted, sizeof(quoted)));
    if (fields && *fields) {
        size_t start = used;
        appendf(line, sizeof(line) - SUPPRESSED_MAX, &used, " ");
        append(line, sizeof(line) - SUPPRESSED_MAX, &used, fields, args);
        /* A value that was not quoted must not start a line of its own. */
        for (size_t i = start; i < used; i++) {
            if (line[i] == '\n' || line[i] == '\r')
                line[i] = ' ';
        }
    }
    if (suppressed > 0)
        appendf(line, sizeof(line), &used, " suppressed=%lu", suppressed);
    send_line(line, used);
}

void log_line(enum log_level level, const char *msg, const char *fields, ...)
{
    va_list args;
    if (level > threshold)
        return;
    va_start(args, fields);
    write_line(level, msg, fields, args, 0);
    va_end(args);
}

int log_gate_open(struct log_gate *g, long long now_ns, long long interval_ns,
                  unsigned long *suppressed)
{
    if (g->last_ns != 0 && now_ns - g->last_ns < interval_ns) {
        g->suppressed++;
        return 0;
    }
    *suppressed = g->suppressed;
    g->suppressed = 0;
    /* 0 stands for never. */
    g->last_ns = now_ns != 0 ? now_ns : 1;
    return 1;
}

void log_limited(struct log_gate *g, long long now_ns, enum log_level level, const char *msg,
                 const char *fields, ...)
{
    unsigned long suppressed;
    va_list args;
    if (level > threshold || !log_gate_open(g, now_ns, LOG_LIMITED_NS, &suppressed))
        return;
    va_start(args, fields);
    write_line(level, msg, fields, args, suppressed);
    va_end(args);
}
