#include "cli/streams/stored_subjects.h"

#include <jansson.h>
#include <stdio.h>

#include "bus/api.h"
#include "cli/streams/stored.h"

ax_err stored_subjects(natsConnection *nc, const char *stream, const char *filter,
                       stored_subjects_cb each, void *arg, uint64_t *messages, struct problem *p)
{
    size_t seen = 0, total = 1, got = 1;
    ax_err err = AX_OK;
    while (err == AX_OK && seen < total && got > 0) {
        json_t *reply, *count;
        const char *subject;
        err = stored_request(
            nc, "STREAM.INFO", stream,
            json_pack("{s:s,s:I}", "subjects_filter", filter, "offset", (json_int_t)seen), &reply,
            NULL, p);
        if (err != AX_OK)
            return err;
        const json_t *state = json_object_get(reply, "state");
        json_t *subjects = json_object_get(state, "subjects");
        json_object_foreach(subjects, subject, count) {
            if (err == AX_OK)
                err = each(arg, subject, p);
        }
        got = json_object_size(subjects);
        seen += got;
        total = (size_t)api_integer(reply, "total", 0);
        if (messages != NULL)
            *messages = (uint64_t)api_integer(state, "messages", 0);
        json_decref(reply);
    }
    return err;
}
