#include "cli/streams/stored_each.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "bus/connect.h"
#include "cli/streams/stored.h"
#include "task/inbox.h"

#define ANSWER_MS 5000

enum { STATUS_NO_MORE = 204, STATUS_NO_MESSAGE = 404 };

struct reading {
    natsConnection *nc;
    natsSubscription *sub;
    char subject[128]; /* of the requests */
    char inbox[INBOX_MAX];
    const char *stream, *filter;
    int batch;
    stored_each_cb each;
    void *arg;
    uint64_t next; /* sequence to go on from */
    bool any;      /* the batch has brought a message */
};

static ax_err ask(struct reading *r)
{
    json_t *request = json_pack("{s:I,s:s,s:i}", "seq", (json_int_t)r->next, "next_by_subj",
                                r->filter, "batch", r->batch);
    char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (text == NULL)
        return AX_E_NOMEM;
    natsStatus s = natsConnection_PublishRequestString(r->nc, r->subject, r->inbox, text);
    free(text);
    return connect_error(s);
}

/* *over: this was the end of the batch. */
static ax_err take(struct reading *r, natsMsg *msg, bool *over, struct problem *p)
{
    const char *subject = stored_header(msg, "Nats-Subject");
    uint64_t seq = (uint64_t)stored_number(msg, "Nats-Sequence", 0);
    int64_t status = stored_number(msg, "Status", 0);
    *over = true;
    bool is_stored = subject != NULL && seq != 0; /* and may have any header Status */
    if (!is_stored && natsMsg_IsNoResponders(msg)) {
        return problem_set(p, AX_E_NO_RESPONDERS, "%s: %s", r->stream,
                           ax_err_text(AX_E_NO_RESPONDERS));
    }
    if (!is_stored && (status == STATUS_NO_MORE || status == STATUS_NO_MESSAGE))
        return AX_OK;
    if (status != 0 && subject == NULL) {
        return problem_set(p, AX_E_SERVER, "%s cannot be read: status %" PRId64, r->stream, status);
    }
    if (!is_stored) {
        return problem_set(p, AX_E_PROTOCOL, "%s cannot be read: %s", r->stream,
                           ax_err_text(AX_E_PROTOCOL));
    }
    *over = false;
    r->next = seq + 1;
    r->any = true;
    r->each(r->arg, subject, seq, msg);
    return AX_OK;
}

static ax_err read_batch(struct reading *r, struct problem *p)
{
    bool over = false;
    r->any = false;
    ax_err err = ask(r);
    if (err != AX_OK)
        return problem_set(p, err, "%s: %s", r->stream, ax_err_text(err));
    while (err == AX_OK && !over) {
        natsMsg *msg = NULL;
        err = connect_error(natsSubscription_NextMsg(&msg, r->sub, ANSWER_MS));
        err = err == AX_OK ? take(r, msg, &over, p)
                           : problem_set(p, err, "%s: %s", r->stream, ax_err_text(err));
        natsMsg_Destroy(msg);
    }
    return err;
}

ax_err stored_each(natsConnection *nc, const char *stream, const char *filter, uint64_t from,
                   int batch, stored_each_cb each, void *arg, struct problem *p)
{
    struct reading r = {.nc = nc,
                        .stream = stream,
                        .filter = filter,
                        .batch = batch,
                        .each = each,
                        .arg = arg,
                        .next = from > 0 ? from : 1,
                        .any = true};
    snprintf(r.subject, sizeof(r.subject), "$JS.API.DIRECT.GET.%s", stream);
    ax_err err = connect_error(natsConnection_SubscribeSync(&r.sub, nc, inbox_new(r.inbox)));
    if (err != AX_OK)
        problem_set(p, err, "%s: %s", stream, ax_err_text(err));
    while (err == AX_OK && r.any)
        err = read_batch(&r, p);
    natsSubscription_Destroy(r.sub);
    return err;
}
