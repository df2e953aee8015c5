#include "bus/provision/priorities.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define NS_PER_MINUTE 60000000000LL
#define QUEUE_PREFIX "ax.queue."

int priorities_find(const struct priorities *ps, const char *name)
{
    for (int i = 0; i < ps->count; i++) {
        if (strcmp(ps->list[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* "ax.queue.<name>.>" into name; false: another subject. */
static bool parse_name(const char *subject, char name[NAME_MAX_CHARS + 1])
{
    size_t prefix = strlen(QUEUE_PREFIX);
    if (subject == NULL || strncmp(subject, QUEUE_PREFIX, prefix) != 0)
        return false;
    const char *start = subject + prefix;
    const char *dot = strchr(start, '.');
    if (dot == NULL || strcmp(dot, ".>") != 0 || !name_is_valid_n(start, (size_t)(dot - start)))
        return false;
    memcpy(name, start, (size_t)(dot - start));
    name[dot - start] = '\0';
    return true;
}

static bool parse_rank(const char *text, int *rank)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < -1000000 || n > 1000000)
        return false;
    *rank = (int)n;
    return true;
}

static void warn_unusable(const char *stream, const char *why)
{
    static struct log_gate gate;
    unsigned long suppressed;
    if (log_gate_open(&gate, clock_now_ns(), NS_PER_MINUTE, &suppressed)) {
        log_warn("stream has ax.rank but is no priority", "stream=%s why=\"%s\" suppressed=%lu",
                 stream, why, suppressed);
    }
}

/* Why a stream with ax.rank is no priority; NULL: it is one. */
static const char *read_priority(const struct stream_info *info, struct priority *pr)
{
    if (info->subject_count != 1 || !parse_name(info->subject, pr->name))
        return "its subjects must be exactly one, ax.queue.<priority>.>";
    if (!parse_rank(info->rank, &pr->rank))
        return "ax.rank must be a whole number";
    if (strlen(info->name) >= sizeof(pr->stream))
        return "its name must be shorter than 64 characters";
    strcpy(pr->stream, info->name);
    pr->spill = info->on_full != NULL && strcmp(info->on_full, "spill") == 0;
    pr->max_msgs = info->max_msgs > 0 ? info->max_msgs : -1;
    pr->messages = info->messages;
    pr->consumers = info->consumers;
    return NULL;
}

static bool is_before(const struct priority *a, const struct priority *b)
{
    return a->rank != b->rank ? a->rank < b->rank : strcmp(a->name, b->name) < 0;
}

ax_err priorities_add(struct priorities *ps, const struct stream_info *info, struct problem *p)
{
    struct priority pr = {0};
    if (info->rank == NULL)
        return AX_OK;
    const char *why = read_priority(info, &pr);
    if (why != NULL) {
        warn_unusable(info->name, why);
        return AX_OK;
    }
    if (!stream_info_share(info->group_share, 1, &pr.group_share))
        warn_unusable(info->name, "ax.group_share must be a number from 0 to 1; taken as 1");
    if (!stream_info_share(info->pool_share, STREAM_INFO_POOL_SHARE, &pr.pool_share))
        warn_unusable(info->name, "ax.pool_share must be a number from 0 to 1; taken as 0.9");
    if (ps->count == PRIORITIES_MAX) {
        return problem_set(p, AX_E_FULL, "stream %s: more than %d streams have ax.rank", info->name,
                           PRIORITIES_MAX);
    }
    int at = ps->count++;
    for (; at > 0 && is_before(&pr, &ps->list[at - 1]); at--)
        ps->list[at] = ps->list[at - 1];
    ps->list[at] = pr;
    return AX_OK;
}

static ax_err on_stream(void *arg, const json_t *value, struct problem *p)
{
    struct priorities_reading *r = arg;
    struct stream_info info;
    return stream_info_read(value, &info) == AX_OK ? priorities_add(&r->found, &info, p) : AX_OK;
}

static void on_end(void *arg, const struct problem *p)
{
    struct priorities_reading *r = arg;
    r->done(r->arg, p);
}

void priorities_read(struct priorities_reading *r, struct asker *a,
                     void (*done)(void *arg, const struct problem *p), void *arg)
{
    *r = (struct priorities_reading){
        .pages = {.asker = a,
                  .what = "STREAM.LIST",
                  .subject = QUEUE_PREFIX ">",
                  .item = on_stream,
                  .done = on_end,
                  .arg = r},
        .done = done,
        .arg = arg,
    };
    pages_read(&r->pages);
}
