#include "cli/doctor/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *finding_severity_text(enum severity s)
{
    static const char *const texts[] = {"note", "warning", "error"};
    return texts[s];
}

struct finding finding_begin(enum severity severity, const char *code, const char *kind,
                             const char *name)
{
    struct finding f = {.severity = severity, .code = code};
    snprintf(f.about, sizeof(f.about), "%s%s%s", kind, name[0] != '\0' ? " " : "", name);
    return f;
}

void finding_seen(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof(f->text), format, args);
    va_end(args);
}

void finding_add(struct finding *f, const char *format, ...)
{
    va_list args;
    size_t used = strlen(f->text);
    va_start(args, format);
    vsnprintf(f->text + used, sizeof(f->text) - used, format, args);
    va_end(args);
}

void finding_fix(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->fix, sizeof(f->fix), format, args);
    va_end(args);
}

void findings_take(struct findings *out, const struct finding *f)
{
    if (out->count == out->cap) {
        int cap = out->cap > 0 ? 2 * out->cap : 16;
        struct finding *grown = realloc(out->list, (size_t)cap * sizeof(*grown));
        if (grown == NULL)
            return;
        out->list = grown;
        out->cap = cap;
    }
    out->list[out->count++] = *f;
}

void findings_sort(struct findings *f)
{
    for (int i = 1; i < f->count; i++) {
        struct finding x = f->list[i];
        int k = i;
        for (; k > 0 && f->list[k - 1].severity < x.severity; k--)
            f->list[k] = f->list[k - 1];
        f->list[k] = x;
    }
}

void findings_free(struct findings *f)
{
    free(f->list);
    *f = (struct findings){0};
}
