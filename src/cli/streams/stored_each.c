#include "cli/streams/stored_each.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/rfc3339.h"
#include "bus/connect.h"
#include "cli/streams/stored.h"
#include "task/inbox.h"

#define ANSWER_MS 5000
#define BATCH_BYTES (8 << 20)

enum { STATUS_NO_MORE = 204, STATUS_NO_MESSAGE = 404 };

struct reading {
    natsConnection *nc;
    natsSubscription *sub;
    char subject[128]; /* of the requests */
    char inbox[INBOX_MAX];
    struct stored_range *range;
    stored_each_cb each;
    void *arg;
    uint64_t next; /* sequence to go on from */
    int64_t count; /* messages that were read */
    bool any;      /* the batch has brought a message */
};

static int next_batch(const struct reading *r)
{
    int64_t room = r->range->limit > 0 ? r->range->limit - r->count : r->range->batch;
    return (int)(room < r->range->batch ? room : r->range->batch);
}

static ax_err ask(struct reading *r)
{
    json_t *request = json_pack("{s:I,s:s,s:i,s:i}", "seq", (json_int_t)r->next, "next_by_subj",
                                r->range->filter, "batch", next_batch(r), "max_bytes", BATCH_BYTES);
    char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (text == NULL)
        return AX_E_NOMEM;
    natsStatus s = natsConnection_PublishRequestString(r->nc, r->subject, r->inbox, text);
    free(text);
    return connect_error(s);
}

static int64_t stored_time(natsMsg *msg)
{
    int64_t ns = 0;
    const char *text = stored_header(msg, "Nats-Time-Stamp");
    return text != NULL && rfc3339_parse(text, &ns) ? ns : 0;
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
        return problem_set(p, AX_E_NO_RESPONDERS, "%s: %s", r->range->stream,
                           ax_err_text(AX_E_NO_RESPONDERS));
    }
    if (!is_stored && (status == STATUS_NO_MORE || status == STATUS_NO_MESSAGE))
        return AX_OK;
    if (status != 0 && subject == NULL) {
        return problem_set(p, AX_E_SERVER, "%s cannot be read: status %" PRId64, r->range->stream,
                           status);
    }
    if (!is_stored) {
        return problem_set(p, AX_E_PROTOCOL, "%s cannot be read: %s", r->range->stream,
                           ax_err_text(AX_E_PROTOCOL));
    }
    *over = false;
    r->next = seq + 1;
    r->any = true;
    r->count++;
    r->range->left = (uint64_t)stored_number(msg, "Nats-Num-Pending", 0);
    r->each(r->arg, subject, seq, stored_time(msg), msg);
    return AX_OK;
}

static ax_err read_batch(struct reading *r, struct problem *p)
{
    bool over = false;
    r->any = false;
    ax_err err = ask(r);
    if (err != AX_OK)
        return problem_set(p, err, "%s: %s", r->range->stream, ax_err_text(err));
    while (err == AX_OK && !over) {
        natsMsg *msg = NULL;
        err = connect_error(natsSubscription_NextMsg(&msg, r->sub, ANSWER_MS));
        err = err == AX_OK ? take(r, msg, &over, p)
                           : problem_set(p, err, "%s: %s", r->range->stream, ax_err_text(err));
        natsMsg_Destroy(msg);
    }
    return err;
}

ax_err stored_each(natsConnection *nc, struct stored_range *range, stored_each_cb each, void *arg,
                   struct problem *p)
{
    struct reading r = {.nc = nc,
                        .range = range,
                        .each = each,
                        .arg = arg,
                        .next = range->from > 0 ? range->from : 1,
                        .any = true};
    range->left = 0;
    snprintf(r.subject, sizeof(r.subject), "$JS.API.DIRECT.GET.%s", range->stream);
    ax_err err = connect_error(natsConnection_SubscribeSync(&r.sub, nc, inbox_new(r.inbox)));
    if (err == AX_OK)
        err = connect_error(natsSubscription_SetPendingLimits(r.sub, -1, -1));
    if (err != AX_OK)
        problem_set(p, err, "%s: %s", range->stream, ax_err_text(err));
    while (err == AX_OK && r.any && next_batch(&r) > 0)
        err = read_batch(&r, p);
    natsSubscription_Destroy(r.sub);
    return err;
}
