#include "cli/streams/schedule_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/streams/stats_query.h"
#include "task/names.h"

#define ANSWER_MS 2000

struct page {
    const char *by; /* only this ingress, which counts alike; NULL: any */
};

static const json_t *find_answer(const struct page *page, const json_t *answers)
{
    size_t i;
    json_t *a;
    json_array_foreach(answers, i, a) {
        const char *name = json_string_value(json_object_get(a, "name"));
        if (json_is_array(json_object_get(a, "schedules")) && name != NULL &&
            json_is_true(json_object_get(a, "ready")) &&
            (page->by == NULL || strcmp(page->by, name) == 0))
            return a;
    }
    return NULL;
}

static bool is_answered(void *arg, const json_t *answers)
{
    return find_answer(arg, answers) != NULL;
}

/* A new reference; NULL: nobody tells. */
static json_t *ask(natsConnection *nc, size_t from, const char *by)
{
    char body[64];
    struct stats_query query = {0};
    struct page page = {by};
    json_t *answer = NULL;
    snprintf(body, sizeof(body), STATS_ASK_SCHEDULES " %zu", from);
    if (stats_query_ask_for(&query, nc, body, NULL) == AX_OK) {
        stats_query_gather(&query, ANSWER_MS, is_answered, &page);
        answer = json_incref((json_t *)find_answer(&page, query.answers));
    }
    stats_query_free(&query);
    return answer;
}

json_t *schedule_names_read(natsConnection *nc)
{
    json_t *all = json_array(), *first = ask(nc, 0, NULL), *page = json_incref(first);
    size_t total = (size_t)json_integer_value(json_object_get(first, "schedules_total"));
    const char *name = json_string_value(json_object_get(first, "name"));
    while (page != NULL) {
        const json_t *names = json_object_get(page, "schedules");
        bool is_last = json_array_size(names) == 0;
        json_array_extend(all, (json_t *)names);
        json_decref(page);
        is_last = is_last || json_array_size(all) >= total;
        page = is_last ? NULL : ask(nc, json_array_size(all), name);
        if (!is_last && page == NULL)
            total = SIZE_MAX; /* the rest is not told */
    }
    bool known = first != NULL && total != SIZE_MAX;
    json_decref(first);
    if (known)
        return all;
    json_decref(all);
    return NULL;
}
