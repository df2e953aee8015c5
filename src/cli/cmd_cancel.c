/* `ax cancel`: asks the dispatcher of the task's pool to remove it wherever it is. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/connect.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/lookup.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/streams/find_key.h"

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
    if (answer == NULL)
        say(CLI_FAILED, "%s: the dispatcher's answer cannot be read", f->id);
    return answer;
}

/* answer is taken. */
static int report(const struct lookup *l, const struct found *f, json_t *answer)
{
    const char *error = json_string_value(
        json_object_get(json_object_get(answer, "error"), "description"));
    const char *state = json_string_value(json_object_get(answer, "state"));
    const char *was = json_string_value(json_object_get(answer, "was"));
    int code = state != NULL && strcmp(state, "cancelled") == 0 ? CLI_OK : CLI_FAILED;
    if (error != NULL) {
        say(CLI_FAILED, "%s: %s", l->text, error);
    } else if (!l->json) {
        output_print("%s %s%s%s\n", f->id, state != NULL ? state : "?", was != NULL ? ", was " : "",
                     was != NULL ? was : "");
    }
    if (l->json)
        output_json(answer);
    else
        json_decref(answer);
    return code;
}

static int cancel(natsConnection *nc, void *arg)
{
    const struct lookup *l = arg;
    struct found f;
    struct problem p = {0};
    if (find_key_or_id(nc, l->pool, l->text, &f, &p) != AX_OK)
        return say_problem(&p);
    if (f.state == TASK_UNKNOWN)
        return lookup_unknown(nc, l);
    json_t *answer = ask(nc, &f);
    return answer != NULL ? report(l, &f, answer) : CLI_FAILED;
}

int cmd_cancel(struct cli *c)
{
    struct lookup l = {0};
    int code = lookup_parse(c, &l, false, "print the dispatcher's answer, one line of JSON");
    return code >= 0 ? code : session_run(c, cancel, &l);
}
