#include "bus/provision/pages.h"

static void ask(struct pages *pages);

/* A stream that has no leader right now is named as missing. */
static ax_err check_missing(const json_t *root, struct problem *p)
{
    const json_t *missing = json_object_get(root, "missing");
    if (json_array_size(missing) == 0)
        return AX_OK;
    const char *name = json_string_value(json_array_get(missing, 0));
    return problem_set(p, AX_E_NO_RESPONDERS, "stream %s has no leader at the moment",
                       name != NULL ? name : "?");
}

static void on_page(void *arg, const struct api_answer *a)
{
    struct pages *pages = arg;
    struct problem p = {0};
    ax_err err = a->err != AX_OK ? api_problem(pages->what, a, &p) : check_missing(a->root, &p);
    const json_t *list = json_object_get(a->root, "streams");
    size_t count = json_array_size(list);
    for (size_t i = 0; err == AX_OK && i < count; i++)
        err = pages->item(pages->arg, json_array_get(list, i), &p);
    pages->offset += count;
    if (err == AX_OK && count > 0 && pages->offset < (size_t)api_integer(a->root, "total", 0)) {
        ask(pages);
        return;
    }
    p.err = err;
    pages->done(pages->arg, &p);
}

static void ask(struct pages *pages)
{
    json_t *payload = json_pack("{s:I, s:s*}", "offset", (json_int_t)pages->offset, "subject",
                                pages->subject);
    asker_ask(pages->asker, pages->what, payload, on_page, pages);
}

void pages_read(struct pages *pages)
{
    pages->offset = 0;
    ask(pages);
}
