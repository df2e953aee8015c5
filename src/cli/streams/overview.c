#include "cli/streams/overview.h"

#include <jansson.h>

#include "bus/api.h"
#include "cli/streams/recorded.h"
#include "cli/streams/stored.h"
#include "task/names.h"

static ax_err count(natsConnection *nc, const char *stream, uint64_t *messages, struct problem *p)
{
    json_t *reply;
    ax_err err = stored_request(nc, "STREAM.INFO", stream, NULL, &reply, NULL, p);
    if (err != AX_OK)
        return err;
    *messages = (uint64_t)api_integer(json_object_get(reply, "state"), "messages", 0);
    json_decref(reply);
    return AX_OK;
}

ax_err overview_read(natsConnection *nc, struct overview *out, struct problem *p)
{
    *out = (struct overview){0};
    /* In the order in which tasks move, so that one that moves meanwhile is counted twice rather
     * than not at all. */
    ax_err err = provision_priorities(nc, &out->queues, p);
    if (err == AX_OK)
        err = count(nc, STREAM_SPILL, &out->spilled, p);
    if (err == AX_OK)
        err = count(nc, STREAM_WORK, &out->work, p);
    if (err == AX_OK)
        err = count(nc, STREAM_LATER, &out->later, p);
    if (err == AX_OK)
        err = count(nc, STREAM_DEAD, &out->dead, p);
    if (err == AX_OK)
        err = recorded_count(nc, &out->done, p);
    return err;
}
