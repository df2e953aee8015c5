#include <jansson.h>
#include <stdio.h>

#include "bus/provision/provision.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"

static void note_created(void *arg, const char *stream)
{
    json_array_append_new(arg, json_string(stream));
}

static void note_short(void *arg, const char *stream, int replicas)
{
    json_array_append_new(arg, json_pack("{s:s,s:i}", "stream", stream, "replicas", replicas));
}

/* An operator's streams stay as they are: it is printed how to change them. */
static void print_short(const json_t *found, int wanted)
{
    size_t i;
    json_t *one;
    json_array_foreach(found, i, one) {
        const char *stream = json_string_value(json_object_get(one, "stream"));
        output_print(
            "%s has replicas: %d, and keeps them; nats stream edit %s --replicas %d -f changes "
            "it\n",
            stream, (int)json_integer_value(json_object_get(one, "replicas")), stream, wanted);
    }
}

struct init {
    int replicas;
    bool json;
    /* owned */
    json_t *created; /* names of the streams that were made */
    json_t *fewer;   /* those that have fewer replicas than asked for */
};

static ax_err provision(natsConnection *nc, struct init *init, struct problem *p)
{
    struct priorities ps;
    ax_err err = provision_streams(nc, init->replicas, note_created, init->created, p);
    if (err == AX_OK)
        err = provision_priorities(nc, &ps, p);
    if (err == AX_OK)
        err = provision_feeders(nc, &ps, p);
    if (err == AX_OK)
        err = provision_short_of_replicas(nc, init->replicas, note_short, init->fewer, p);
    return err;
}

static void print_text(const struct init *init)
{
    size_t created = json_array_size(init->created);
    for (size_t i = 0; i < created; i++)
        output_print("created %s\n", json_string_value(json_array_get(init->created, i)));
    output_print("%d streams, %zu created, %zu left as they are\n", stream_plan_asset_count,
                 created, (size_t)stream_plan_asset_count - created);
    print_short(init->fewer, init->replicas);
}

static int run(natsConnection *nc, void *arg)
{
    struct init *init = arg;
    struct problem p = {0};
    int code = CLI_OK;
    init->created = json_array();
    init->fewer = json_array();
    if (provision(nc, init, &p) != AX_OK) {
        code = say_problem(&p);
    } else if (init->json) {
        output_json(json_pack("{s:O,s:i,s:O}", "created", init->created, "streams",
                              stream_plan_asset_count, "fewer_replicas", init->fewer));
    } else {
        print_text(init);
    }
    json_decref(init->created);
    json_decref(init->fewer);
    return code;
}

const char cmd_init_detail[] = "";

int cmd_init(struct cli *c)
{
    struct init init = {0};
    const struct flag flags[] = {
        {"json", FLAG_BOOL, &init.json, 0, 0, NULL, "print one line of JSON"}};
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 0, 0);
    if (code >= 0)
        return code;
    init.replicas = (int)c->options.replicas;
    return session_run(c, run, &init);
}
