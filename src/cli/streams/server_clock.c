#include "cli/streams/server_clock.h"

#include <jansson.h>

#include "bus/api.h"
#include "cli/streams/stored.h"

ax_err server_clock_read(natsConnection *nc, const char *stream, struct clock *out,
                         struct problem *p)
{
    json_t *reply;
    clock_init(out);
    int64_t asked_ns = clock_mono_ns(out);
    ax_err err = stored_request(nc, "STREAM.INFO", stream, NULL, &reply, NULL, p);
    if (err != AX_OK)
        return err;
    int64_t ts_ns = api_time_ns(reply, "ts");
    json_decref(reply);
    if (ts_ns == 0)
        return problem_set(p, AX_E_PROTOCOL, "%s: the server does not tell its time", stream);
    clock_learn_answer(out, ts_ns, asked_ns);
    return AX_OK;
}
