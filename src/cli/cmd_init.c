#include <jansson.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "core/provision.h"

static void note_created(void *arg, const char *stream)
{
    json_array_append_new(arg, json_string(stream));
}

int cmd_init(struct cli *c)
{
    bool json = false;
    const struct flag flags[] = {{"json", FLAG_BOOL, &json, 0, 0, NULL, "print one line of JSON"}};
    int code = args_parse(c, flags, 1, 0, 0);
    if (code >= 0)
        return code;
    natsConnection *nc = cli_connect(c);
    if (!nc)
        return CLI_FAILED;

    json_t *created = json_array();
    struct problem p = {0};
    struct priorities ps;
    ax_err e = provision_streams(nc, (int)c->options.replicas, note_created, created, &p);
    if (!e)
        e = provision_priorities(nc, &ps, &p);
    if (!e)
        e = provision_feeders(nc, &ps, &p);
    if (e) {
        code = say_problem(&p);
        json_decref(created);
    } else if (json) {
        output_json(json_pack("{s:o,s:i}", "created", created, "streams", provision_asset_count));
        code = CLI_OK;
    } else {
        for (size_t i = 0; i < json_array_size(created); i++)
            printf("created %s\n", json_string_value(json_array_get(created, i)));
        printf("%d streams, %zu created, %zu left as they are\n", provision_asset_count, json_array_size(created),
               (size_t)provision_asset_count - json_array_size(created));
        json_decref(created);
        code = CLI_OK;
    }
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
