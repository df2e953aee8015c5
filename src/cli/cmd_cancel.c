/* `ax cancel`: asks the dispatcher of the task's pool to remove it wherever it is. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/connect.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/streams/find.h"

#define CANCEL_WAIT_MS 15000

const char cmd_cancel_detail[] = "A task that waits is removed; a running attempt is revoked (a "
                                 "worker that listens on ax.revoke.POOL.ID stops it) and has no\n"
                                 "next one. Then the key is free again. A finished or dead task "
                                 "stays as it is. Exit code 0 when the task is cancelled, 1 when\n"
                                 "it had ended before or nobody knows it.";

/* The dispatcher's answer, or NULL after saying why there is none. */
static json_t *ask(natsConnection *nc, const struct found *f)
{
    char subject[SUBJECT_MAX_CHARS];
    natsMsg *reply = NULL;
    snprintf(subject, sizeof(subject), CANCEL_PREFIX "%s.%s", f->pool, f->id);
    natsStatus s = natsConnection_RequestString(&reply, nc, subject, "", CANCEL_WAIT_MS);
    if (s != NATS_OK) {
        say(CLI_FAILED, "%s: no dispatcher answered (%s); is ax-dispatch running?", f->id,
            ax_err_text(connect_error(s)));
        return NULL;
    }
    json_t *answer = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0,
                                NULL);
    natsMsg_Destroy(reply);
    if (!answer)
        say(CLI_FAILED, "%s: the dispatcher's answer cannot be read", f->id);
    return answer;
}

static int cancel(natsConnection *nc, const char *pool, const char *text, bool json)
{
    struct found f;
    struct problem p = {0};
    if (find_key_or_id(nc, pool, text, &f, &p))
        return say_problem(&p);
    if (f.state == TASK_UNKNOWN) {
        return say(CLI_FAILED, "%s: unknown: no task of that key (pool %s) or id in AX's streams",
                   text, pool ? pool : DEFAULT_POOL);
    }
    json_t *answer = ask(nc, &f);
    if (!answer)
        return CLI_FAILED;
    const char *error = json_string_value(
        json_object_get(json_object_get(answer, "error"), "description"));
    const char *state = json_string_value(json_object_get(answer, "state"));
    const char *was = json_string_value(json_object_get(answer, "was"));
    int code = state && strcmp(state, "cancelled") == 0 ? CLI_OK : CLI_FAILED;
    if (error)
        say(CLI_FAILED, "%s: %s", text, error);
    else if (!json)
        printf("%s %s%s%s\n", f.id, state ? state : "?", was ? ", was " : "", was ? was : "");
    if (json)
        output_json(answer);
    else
        json_decref(answer);
    return code;
}

int cmd_cancel(struct cli *c)
{
    bool json = false;
    const char *pool = NULL;
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &pool, 0, 0, "NAME",
         "the key's pool (default: `default`; an id is looked for in all)"},
        {"json", FLAG_BOOL, &json, 0, 0, NULL, "print the dispatcher's answer, one line of JSON"},
    };
    int code = args_parse(c, flags, 2, 1, 1);
    if (code >= 0)
        return code;
    if (pool && !name_is_valid(pool))
        return say(CLI_USAGE, "--pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", pool);
    natsConnection *nc = cli_connect(c);
    if (!nc)
        return CLI_FAILED;
    code = cancel(nc, pool, c->argv[0], json);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
