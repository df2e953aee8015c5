#include "base/text/safe_format.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/safe_text.h"

/* One conversion of a format: "%-*.3lld". */
struct spec {
    bool left; /* '-' */
    int width; /* 0: none */
    int most;  /* precision; -1: none */
    char length[3];
    char kind;
};

/* Where the text grows, and what is still to be put in. */
struct formatting {
    FILE *out;
    va_list args;
};

static int read_number(struct formatting *f, const char **at)
{
    int n = 0;
    if (**at == '*') {
        (*at)++;
        return va_arg(f->args, int);
    }
    for (; **at >= '0' && **at <= '9'; (*at)++)
        n = 10 * n + (**at - '0');
    return n;
}

/* at: behind the '%'. Returns what follows the conversion. */
static const char *read_spec(struct formatting *f, const char *at, struct spec *s)
{
    *s = (struct spec){.most = -1};
    for (; *at == '-'; at++)
        s->left = true;
    s->width = read_number(f, &at);
    if (s->width < 0) {
        s->left = true;
        s->width = -s->width;
    }
    if (*at == '.') {
        at++;
        s->most = read_number(f, &at);
    }
    for (size_t i = 0; i < sizeof(s->length) - 1 && strchr("lz", *at) != NULL && *at != '\0'; i++)
        s->length[i] = *at++;
    s->kind = *at;
    return *at != '\0' ? at + 1 : at;
}

static void pad(struct formatting *f, const struct spec *s, size_t columns)
{
    for (size_t i = columns; i < (size_t)s->width; i++)
        fputc(' ', f->out);
}

static void put_text(struct formatting *f, const struct spec *s)
{
    const char *text = va_arg(f->args, const char *);
    text = text != NULL ? text : "(null)";
    size_t bytes = s->most >= 0 ? strnlen(text, (size_t)s->most) : strlen(text);
    size_t columns = 0;
    char unit[SAFE_TEXT_UNIT_MAX];
    for (size_t at = 0; at < bytes && !s->left;) {
        at += safe_text_unit(text + at, bytes - at, SAFE_TEXT_FIELD, unit);
        columns += safe_text_columns(unit);
    }
    if (!s->left)
        pad(f, s, columns);
    for (size_t at = 0; at < bytes;) {
        at += safe_text_unit(text + at, bytes - at, SAFE_TEXT_FIELD, unit);
        columns += s->left ? safe_text_columns(unit) : 0;
        fputs(unit, f->out);
    }
    if (s->left)
        pad(f, s, columns);
}

static void put_signed(struct formatting *f, const struct spec *s)
{
    char text[32];
    long long n = s->length[1] == 'l'   ? va_arg(f->args, long long)
                  : s->length[0] == 'l' ? va_arg(f->args, long)
                  : s->length[0] == 'z' ? va_arg(f->args, ssize_t)
                                        : va_arg(f->args, int);
    snprintf(text, sizeof(text), "%lld", n);
    fprintf(f->out, "%*s", s->left ? -s->width : s->width, text);
}

static void put_unsigned(struct formatting *f, const struct spec *s)
{
    char text[32];
    unsigned long long n = s->length[1] == 'l'   ? va_arg(f->args, unsigned long long)
                           : s->length[0] == 'l' ? va_arg(f->args, unsigned long)
                           : s->length[0] == 'z' ? va_arg(f->args, size_t)
                                                 : va_arg(f->args, unsigned);
    if (s->kind == 'x')
        snprintf(text, sizeof(text), "%llx", n);
    else
        snprintf(text, sizeof(text), "%llu", n);
    fprintf(f->out, "%*s", s->left ? -s->width : s->width, text);
}

static void put(struct formatting *f, const struct spec *s)
{
    switch (s->kind) {
    case 's':
        put_text(f, s);
        break;
    case 'd':
    case 'i':
        put_signed(f, s);
        break;
    case 'u':
    case 'x':
        put_unsigned(f, s);
        break;
    case 'c':
        fputc(va_arg(f->args, int), f->out);
        break;
    case 'f':
        fprintf(f->out, "%*.*f", s->width, s->most, va_arg(f->args, double));
        break;
    case '%':
        fputc('%', f->out);
        break;
    default:
        abort();
    }
}

char *safe_format(const char *format, va_list args)
{
    char *text = NULL;
    size_t bytes = 0;
    struct formatting f = {.out = open_memstream(&text, &bytes)};
    struct spec s;
    if (f.out == NULL)
        return NULL;
    va_copy(f.args, args);
    while (*format != '\0') {
        size_t own = strcspn(format, "%");
        fwrite(format, 1, own, f.out);
        format += own;
        if (*format == '%') {
            format = read_spec(&f, format + 1, &s);
            put(&f, &s);
        }
    }
    va_end(f.args);
    bool failed = ferror(f.out) != 0;
    if (fclose(f.out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
