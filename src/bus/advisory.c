#include "bus/advisory.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bus/api.h"

/* As nats-server writes them (consumer.go). */
static const char *const servers_own[] = {"Unacknowledged message was deleted",
                                          "Message deleted by stream limits"};

bool advisory_read(const char *data, size_t bytes, struct advisory *out)
{
    json_t *root = json_loadb(data, bytes, 0, NULL);
    const char *consumer = json_string_value(json_object_get(root, "consumer"));
    const char *reason = json_string_value(json_object_get(root, "reason"));
    *out = (struct advisory){.stream_seq = (uint64_t)api_integer(root, "stream_seq", 0)};
    if (consumer != NULL && strlen(consumer) < sizeof(out->consumer))
        strcpy(out->consumer, consumer);
    if (reason != NULL) {
        out->has_reason = true;
        snprintf(out->reason, sizeof(out->reason), "%s", reason);
        for (size_t i = 0; i < sizeof(servers_own) / sizeof(servers_own[0]); i++)
            out->is_servers_own = out->is_servers_own || strcmp(reason, servers_own[i]) == 0;
    }
    bool ok = json_is_object(root);
    json_decref(root);
    return ok;
}
