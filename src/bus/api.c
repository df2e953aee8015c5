#include "bus/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/rfc3339.h"

struct question {
    struct loop *loop;
    int64_t asked_ns;
    api_cb cb;
    void *arg;
};

int64_t api_time_ns(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    int64_t ns;
    return text != NULL && rfc3339_parse(text, &ns) ? ns : 0;
}

int64_t api_integer(const json_t *o, const char *name, int64_t otherwise)
{
    const json_t *v = json_object_get(o, name);
    return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

void api_read(const char *data, size_t bytes, struct api_answer *out, json_t **root)
{
    *out = (struct api_answer){.err = AX_E_PROTOCOL};
    *root = json_loadb(data, bytes, 0, NULL);
    const json_t *error = json_object_get(*root, "error");
    if (error != NULL) {
        const char *text = json_string_value(json_object_get(error, "description"));
        out->err = AX_E_SERVER;
        out->err_code = (int)api_integer(error, "err_code", 0);
        snprintf(out->description, sizeof(out->description), "%s", text != NULL ? text : "");
    } else if (json_is_object(*root)) {
        out->err = AX_OK;
        out->root = *root;
        return;
    }
    json_decref(*root);
    *root = NULL;
}

ax_err api_problem(const char *what, const struct api_answer *a, struct problem *p)
{
    if (a->err != AX_E_SERVER)
        return problem_set(p, a->err, "$JS.API.%s: %s", what, ax_err_text(a->err));
    return problem_set(p, a->err, "%s: %s (err_code %d)", what,
                       a->description[0] != '\0' ? a->description : "no description", a->err_code);
}

static void on_answer(void *arg, const struct answer *a)
{
    struct question *q = arg;
    struct api_answer read = {.err = a->err};
    json_t *root = NULL;
    if (a->err == AX_OK) {
        api_read(natsMsg_GetData(a->reply), (size_t)natsMsg_GetDataLength(a->reply), &read, &root);
        int64_t ts_ns = api_time_ns(root, "ts");
        if (ts_ns != 0)
            clock_learn_answer(loop_clock(q->loop), ts_ns, q->asked_ns);
    }
    q->cb(q->arg, &read);
    json_decref(root);
    free(q);
}

static ax_err send(struct pipeline *p, const char *what, const char *text, int64_t timeout_ms,
                   struct question q)
{
    char subject[API_SUBJECT_MAX];
    if ((size_t)snprintf(subject, sizeof(subject), "$JS.API.%s", what) >= sizeof(subject))
        return AX_E_TOO_LONG;
    struct question *kept = malloc(sizeof(*kept));
    if (kept == NULL)
        return AX_E_NOMEM;
    *kept = q;
    ax_err err = pipeline_request(p, subject, text, strlen(text), timeout_ms, on_answer, kept);
    if (err != AX_OK)
        free(kept);
    return err;
}

ax_err api_ask(struct pipeline *p, struct loop *l, const char *what, json_t *payload,
               int64_t timeout_ms, api_cb cb, void *arg)
{
    struct question q = {.loop = l, .asked_ns = loop_now_ns(l), .cb = cb, .arg = arg};
    if (payload == NULL)
        return send(p, what, "", timeout_ms, q);
    char *text = json_dumps(payload, JSON_COMPACT);
    json_decref(payload);
    ax_err err = text != NULL ? send(p, what, text, timeout_ms, q) : AX_E_NOMEM;
    free(text);
    return err;
}
