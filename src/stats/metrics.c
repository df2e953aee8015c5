#include "stats/metrics.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t ends_ms[] = {1,    2,    5,    10,    25,    50,    100,    250,    500,
                                  1000, 2500, 5000, 10000, 30000, 60000, 300000, 900000, 3600000};
#define ENDS (sizeof(ends_ms) / sizeof(ends_ms[0]))
/* The same in seconds, as labels. */
static const char *const ends_s[ENDS] = {"0.001", "0.002", "0.005", "0.01", "0.025", "0.05",
                                         "0.1",   "0.25",  "0.5",   "1",    "2.5",   "5",
                                         "10",    "30",    "60",    "300",  "900",   "3600"};

struct metric_buckets {
    _Atomic int64_t count[ENDS + 1]; /* not cumulative; the last one: longer than all ends */
    _Atomic int64_t sum_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under lock: all metrics, sorted by name, then labels, the order of the text. None is ever
 * removed. */
static struct metric **all;
static size_t count, room;
static struct metric nowhere = {.name = "ax_nowhere", .labels = "", .help = ""};

static int order(const struct metric *m, const char *name, const char *labels)
{
    int by_name = strcmp(m->name, name);
    return by_name != 0 ? by_name : strcmp(m->labels, labels);
}

/* Its index in `all`, or the one it would have. */
static size_t index_of(const char *name, const char *labels)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (order(all[middle], name, labels) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static bool make_room(void)
{
    if (count < room) {
        return true;
    }
    size_t more = room == 0 ? 64 : room * 2;
    struct metric **grown = realloc(all, more * sizeof(struct metric *));
    if (grown == NULL) {
        return false;
    }
    all = grown;
    room = more;
    return true;
}

static struct metric *add(size_t at, enum metric_kind kind, const char *name, const char *help,
                          const char *labels)
{
    struct metric *m = calloc(1, sizeof(*m));
    char *copy = strdup(labels);
    struct metric_buckets *buckets = kind == METRIC_HISTOGRAM ? calloc(1, sizeof(*buckets)) : NULL;
    if (m == NULL || copy == NULL || (kind == METRIC_HISTOGRAM && buckets == NULL) ||
        !make_room()) {
        free(m);
        free(copy);
        free(buckets);
        return &nowhere;
    }
    *m = (struct metric){
        .name = name, .labels = copy, .help = help, .kind = kind, .buckets = buckets};
    memmove(all + at + 1, all + at, (count - at) * sizeof(struct metric *));
    all[at] = m;
    count++;
    return m;
}

static bool has_label(const char *labels, const char *label)
{
    size_t n = strlen(label);
    for (const char *at = labels; (at = strstr(at, label)) != NULL; at += n) {
        bool begins = at == labels || at[-1] == ',';
        if (begins && (at[n] == '\0' || at[n] == ','))
            return true;
    }
    return false;
}

void metrics_hide_labelled(const char *label, bool hidden)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (has_label(all[i]->labels, label))
            metric_hide(all[i], hidden);
    }
    pthread_mutex_unlock(&lock);
}

/* The text as it grows. Numbers are written without printf where they can be: a scrape of a hundred
 * pools is eight thousand lines. */
struct text {
    char *start;
    size_t used, cap;
    bool failed;
};

static void put_bytes(struct text *t, const char *bytes, size_t n)
{
    if (t->used + n + 1 > t->cap) {
        size_t cap = t->cap == 0 ? 16384 : t->cap * 2;
        while (cap < t->used + n + 1) {
            cap *= 2;
        }
        char *grown = t->failed ? NULL : realloc(t->start, cap);
        if (grown == NULL) {
            t->failed = true;
            return;
        }
        t->start = grown;
        t->cap = cap;
    }
    memcpy(t->start + t->used, bytes, n);
    t->used += n;
}

static void put(struct text *t, const char *s)
{
    put_bytes(t, s, strlen(s));
}

static void put_whole(struct text *t, int64_t n)
{
    char digits[24], *at = digits + sizeof(digits);
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (n < 0) {
        *--at = '-';
    }
    put_bytes(t, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_real(struct text *t, double v)
{
    char number[40];
    snprintf(number, sizeof(number), "%.9g", v);
    put(t, number);
}

static void put_help(struct text *t, const char *help)
{
    for (; *help != '\0'; help++) {
        if (*help == '\\') {
            put(t, "\\\\");
        } else if (*help == '\n') {
            put(t, "\\n");
        } else {
            put_bytes(t, help, 1);
        }
    }
}

/* Name, suffix, labels, blank. */
static void put_name(struct text *t, const struct metric *m, const char *suffix)
{
    put(t, m->name);
    put(t, suffix);
    if (m->labels[0] != '\0') {
        put(t, "{");
        put(t, m->labels);
        put(t, "}");
    }
    put(t, " ");
}

static void put_histogram(struct text *t, struct metric *m)
{
    const char *comma = m->labels[0] != '\0' ? "," : "";
    int64_t total = 0;
    for (size_t i = 0; i <= ENDS; i++) {
        total += atomic_load_explicit(&m->buckets->count[i], memory_order_relaxed);
        put(t, m->name);
        put(t, "_bucket{");
        put(t, m->labels);
        put(t, comma);
        put(t, "le=\"");
        put(t, i < ENDS ? ends_s[i] : "+Inf");
        put(t, "\"} ");
        put_whole(t, total);
        put(t, "\n");
    }
    put_name(t, m, "_sum");
    put_real(t, (double)atomic_load_explicit(&m->buckets->sum_ns, memory_order_relaxed) / 1e9);
    put(t, "\n");
    put_name(t, m, "_count");
    put_whole(t, total);
    put(t, "\n");
}

static const char *const kinds[] = {[METRIC_COUNTER] = "counter",
                                    [METRIC_GAUGE] = "gauge",
                                    [METRIC_REAL] = "gauge",
                                    [METRIC_HISTOGRAM] = "histogram"};

static double real_value(struct metric *m)
{
    int64_t bits = metric_value(m);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static void put_metric(struct text *t, struct metric *m)
{
    if (m->kind == METRIC_HISTOGRAM) {
        put_histogram(t, m);
        return;
    }
    put_name(t, m, "");
    if (m->kind == METRIC_REAL) {
        put_real(t, real_value(m));
    } else {
        put_whole(t, metric_value(m));
    }
    put(t, "\n");
}

static void put_all(struct text *t, struct metric **list, size_t n)
{
    const char *name = "";
    for (size_t i = 0; i < n; i++) {
        struct metric *m = list[i];
        if (atomic_load_explicit(&m->hidden, memory_order_relaxed)) {
            continue;
        }
        if (strcmp(name, m->name) != 0) {
            name = m->name;
            put(t, "# HELP ");
            put(t, name);
            put(t, " ");
            put_help(t, m->help);
            put(t, "\n# TYPE ");
            put(t, name);
            put(t, " ");
            put(t, kinds[m->kind]);
            put(t, "\n");
        }
        put_metric(t, m);
    }
}

struct metric *metrics_get(enum metric_kind kind, const char *name, const char *help,
                           const char *labels)
{
    pthread_mutex_lock(&lock);
    size_t at = index_of(name, labels);
    bool there = at < count && order(all[at], name, labels) == 0;
    struct metric *m = there ? all[at] : add(at, kind, name, help, labels);
    pthread_mutex_unlock(&lock);
    return m;
}

void metric_set_real(struct metric *m, double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    metric_set(m, bits);
}

void metric_observe_ns(struct metric *m, int64_t ns)
{
    size_t i = 0;
    if (m->buckets == NULL) {
        return; /* the dummy */
    }
    ns = ns > 0 ? ns : 0;
    while (i < ENDS && ns > ends_ms[i] * 1000000) {
        i++;
    }
    atomic_fetch_add_explicit(&m->buckets->count[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->buckets->sum_ns, ns, memory_order_relaxed);
    metric_add(m, 1);
}

char *metrics_text(size_t *bytes)
{
    pthread_mutex_lock(&lock);
    size_t n = count;
    struct metric **list = malloc((n + 1) * sizeof(struct metric *));
    if (list != NULL && n > 0) {
        memcpy(list, all, n * sizeof(struct metric *));
    }
    pthread_mutex_unlock(&lock);
    struct text t = {.failed = list == NULL};
    if (list != NULL) {
        put_all(&t, list, n);
        put_bytes(&t, "", 0); /* an empty text is one, too */
    }
    free(list);
    if (t.failed) {
        free(t.start);
        return NULL;
    }
    t.start[t.used] = '\0';
    *bytes = t.used;
    return t.start;
}
