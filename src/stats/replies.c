#include "stats/replies.h"

#include <stddef.h>

#include "task/inbox.h"

void replies_init(struct replies *r, struct loop *l, const struct options *o, const char *counter)
{
    *r = (struct replies){.loop = l, .prefixes = o->reply_prefixes};
    r->refused = metrics_get(METRIC_COUNTER, counter,
                             "Messages whose reply subject is no inbox, not answered", "");
}

bool replies_are_wanted(natsMsg *msg)
{
    return natsMsg_GetReply(msg) != NULL;
}

const char *replies_of(struct replies *r, natsMsg *msg)
{
    const char *reply = natsMsg_GetReply(msg);
    char subject[200], named[200];
    if (reply == NULL || inbox_is_answerable(reply, r->prefixes))
        return reply;
    metric_add(r->refused, 1);
    log_limited(&r->gate, loop_now_ns(r->loop), LOG_WARN, "reply subject is no inbox, not answered",
                "subject=%s reply=%s", log_quote(natsMsg_GetSubject(msg), subject, sizeof(subject)),
                log_quote(reply, named, sizeof(named)));
    return NULL;
}
