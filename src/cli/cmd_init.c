#include <jansson.h>
#include <stdio.h>

#include "bus/provision/provision.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"

static void note_created(void *arg, const char *stream)
{
    json_array_append_new(arg, json_string(stream));
}

static void note_short(void *arg, const char *stream, int replicas)
{
    json_array_append_new(arg, json_pack("{s:s,s:i}", "stream", stream, "replicas", replicas));
}

/* An operator's streams stay as they are: how to change them is told instead. */
static void print_short(const json_t *found, int wanted)
{
    size_t i;
    json_t *one;
    json_array_foreach(found, i, one) {
        const char *stream = json_string_value(json_object_get(one, "stream"));
        printf("%s has replicas: %d, and keeps them; nats stream edit %s --replicas %d -f changes "
               "it\n",
               stream, (int)json_integer_value(json_object_get(one, "replicas")), stream, wanted);
    }
}

const char cmd_init_detail[] = "";

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

    json_t *created = json_array(), *fewer = json_array();
    struct problem p = {0};
    struct priorities ps;
    ax_err e = provision_streams(nc, (int)c->options.replicas, note_created, created, &p);
    if (!e)
        e = provision_priorities(nc, &ps, &p);
    if (!e)
        e = provision_feeders(nc, &ps, &p);
    if (!e)
        e = provision_short_of_replicas(nc, (int)c->options.replicas, note_short, fewer, &p);
    code = CLI_OK;
    if (e) {
        code = say_problem(&p);
    } else if (json) {
        output_json(json_pack("{s:O,s:i,s:O}", "created", created, "streams",
                              stream_plan_asset_count, "fewer_replicas", fewer));
    } else {
        for (size_t i = 0; i < json_array_size(created); i++)
            printf("created %s\n", json_string_value(json_array_get(created, i)));
        printf("%d streams, %zu created, %zu left as they are\n", stream_plan_asset_count,
               json_array_size(created),
               (size_t)stream_plan_asset_count - json_array_size(created));
        print_short(fewer, (int)c->options.replicas);
    }
    json_decref(created);
    json_decref(fewer);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
