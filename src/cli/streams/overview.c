#include "cli/streams/overview.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bus/pipeline.h"
#include "cli/streams/recorded.h"
#include "task/names.h"

#define API_TIMEOUT_MS 5000

static ax_err count(natsConnection *nc, const char *stream, uint64_t *messages, struct problem *p)
{
    char what[128];
    snprintf(what, sizeof(what), "STREAM.INFO.%s", stream);
    char *reply = NULL;
    int err_code = 0;
    ax_err e = provision_api(nc, what, "", API_TIMEOUT_MS, &reply, &err_code, p);
    if (e == AX_E_SERVER && err_code == JSERR_STREAM_NOT_FOUND)
        e = problem_set(p, e, "stream %s does not exist: create it with `ax init`", stream);
    if (!e) {
        json_t *root = json_loads(reply, 0, NULL);
        *messages = (uint64_t)json_integer_value(
            json_object_get(json_object_get(root, "state"), "messages"));
        json_decref(root);
    }
    free(reply);
    return e;
}

ax_err overview_read(natsConnection *nc, struct overview *out, struct problem *p)
{
    *out = (struct overview){0};
    /* In the order in which tasks move, so that one on its way is counted twice rather than not at
     * all. */
    ax_err e = provision_priorities(nc, &out->queues, p);
    if (!e)
        e = count(nc, STREAM_SPILL, &out->spilled, p);
    if (!e)
        e = count(nc, STREAM_WORK, &out->work, p);
    if (!e)
        e = count(nc, STREAM_LATER, &out->later, p);
    if (!e)
        e = count(nc, STREAM_DEAD, &out->dead, p);
    if (!e)
        e = recorded_count(nc, &out->done, p);
    return e;
}
