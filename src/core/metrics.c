#include "core/metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct metric *all; /* under lock; metrics are never taken out */
static size_t count;
static struct metric nowhere = {.name = "ax_nowhere", .labels = "", .help = ""};

static struct metric *find(const char *name, const char *labels)
{
    for (struct metric *m = all; m != NULL; m = m->next) {
        if (strcmp(m->name, name) == 0 && strcmp(m->labels, labels) == 0) {
            return m;
        }
    }
    return NULL;
}

static struct metric *add(enum metric_kind kind, const char *name, const char *help, const char *labels)
{
    struct metric *m = calloc(1, sizeof(*m));
    char *copy = strdup(labels);
    if (m == NULL || copy == NULL) {
        free(m);
        free(copy);
        return &nowhere;
    }
    *m = (struct metric){.name = name, .labels = copy, .help = help, .kind = kind, .next = all};
    all = m;
    count++;
    return m;
}

static int by_name(const void *a, const void *b)
{
    const struct metric *left = *(struct metric *const *)a, *right = *(struct metric *const *)b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : strcmp(left->labels, right->labels);
}

static void write_help(FILE *out, const char *help)
{
    for (; *help != '\0'; help++) {
        if (*help == '\\') {
            fputs("\\\\", out);
        } else if (*help == '\n') {
            fputs("\\n", out);
        } else {
            putc(*help, out);
        }
    }
}

static void write_all(FILE *out, struct metric **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct metric *m = list[i];
        if (i == 0 || strcmp(list[i - 1]->name, m->name) != 0) {
            fprintf(out, "# HELP %s ", m->name);
            write_help(out, m->help);
            fprintf(out, "\n# TYPE %s %s\n", m->name, m->kind == METRIC_COUNTER ? "counter" : "gauge");
        }
        bool labelled = m->labels[0] != '\0';
        fprintf(out, "%s%s%s%s %" PRId64 "\n", m->name, labelled ? "{" : "", m->labels, labelled ? "}" : "",
                metric_value(m));
    }
}

struct metric *metrics_get(enum metric_kind kind, const char *name, const char *help, const char *labels)
{
    pthread_mutex_lock(&lock);
    struct metric *m = find(name, labels);
    if (m == NULL) {
        m = add(kind, name, help, labels);
    }
    pthread_mutex_unlock(&lock);
    return m;
}

char *metrics_label(const char *value, char *buf, size_t cap)
{
    size_t used = 0;
    for (; *value != '\0' && used + 3 <= cap; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n') {
            buf[used++] = '\\';
        }
        buf[used++] = *value == '\n' ? 'n' : *value;
    }
    if (cap > 0) {
        buf[used] = '\0';
    }
    return buf;
}

char *metrics_text(size_t *bytes)
{
    pthread_mutex_lock(&lock);
    size_t n = 0;
    struct metric **list = malloc((count + 1) * sizeof(*list));
    for (struct metric *m = list != NULL ? all : NULL; m != NULL; m = m->next) {
        list[n++] = m;
    }
    pthread_mutex_unlock(&lock);
    char *text = NULL;
    FILE *out = list != NULL ? open_memstream(&text, bytes) : NULL;
    if (out != NULL) {
        qsort(list, n, sizeof(*list), by_name);
        write_all(out, list, n);
        bool failed = ferror(out) != 0;
        if (fclose(out) != 0 || failed) {
            free(text);
            text = NULL;
        }
    }
    free(list);
    return text;
}
