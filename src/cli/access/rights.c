#include "cli/access/rights.h"

#include <stdio.h>
#include <string.h>

#include "task/inbox.h"

/* Long enough for every row with its placeholders filled in. */
#define RIGHT_MAX_CHARS 256

static const struct right rights[] = {
    {RIGHTS_PRODUCER, RIGHTS_PUBLISH, RIGHTS_SERVICE, "ax.submit.{priority}.{pool}"},
    {RIGHTS_CANCEL, RIGHTS_PUBLISH, RIGHTS_SERVICE, "ax.cancel.{pool}.*"},
    {RIGHTS_WORKER, RIGHTS_PUBLISH, RIGHTS_SERVICE, "$JS.API.CONSUMER.INFO.AX_WORK.{pool}"},
    {RIGHTS_WORKER, RIGHTS_PUBLISH, RIGHTS_SERVICE_STREAM,
     "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{pool}"},
    /* "+NXT" asks for several tasks. Five tokens and no more: followed by eleven it would be the
     * longer form of another pool's (bus/ack.c). */
    {RIGHTS_WORKER, RIGHTS_PUBLISH, RIGHTS_SERVICE_STREAM, "$JS.ACK.AX_WORK.{pool}.*.*.*.*.*"},
    /* The longer form. The domain is never "*": the short form of another pool's ack would match,
     * $JS.ACK.AX_WORK.<other>.AX_WORK.<pool>. followed by numbers, which the server obeys when the
     * pool's name is a number. */
    {RIGHTS_WORKER, RIGHTS_PUBLISH, RIGHTS_SERVICE_STREAM, "$JS.ACK.{domain}.*.AX_WORK.{pool}.>"},
    {RIGHTS_WORKER, RIGHTS_PUBLISH, RIGHTS_SERVICE, "ax.worker.{pool}.*"},
    {RIGHTS_PRODUCER | RIGHTS_WORKER, RIGHTS_SUBSCRIBE, RIGHTS_OWN, "{inbox}"},
    {RIGHTS_WORKER, RIGHTS_SUBSCRIBE, RIGHTS_STREAM, "ax.revoke.{pool}.*"},

#define INGRESS(way, subject) {RIGHTS_INGRESS, RIGHTS_##way, RIGHTS_OWN, subject}
    INGRESS(PUBLISH, "{answers}"),
    INGRESS(PUBLISH, "ax.queue.>"),
    INGRESS(PUBLISH, "ax.later.>"),
    INGRESS(PUBLISH, "ax.spill.>"),
    INGRESS(PUBLISH, "ax.dead.>"),
    INGRESS(PUBLISH, "ax.refused.*.*"),
    INGRESS(PUBLISH, "$KV.AX_POOLS.*"),
    INGRESS(PUBLISH, "$KV.AX_DONE.*"),
    INGRESS(PUBLISH, "$JS.API.STREAM.NAMES"),
    INGRESS(PUBLISH, "$JS.API.STREAM.LIST"),
    INGRESS(PUBLISH, "$JS.API.STREAM.INFO.*"),
    INGRESS(PUBLISH, "$JS.API.STREAM.CREATE.*"),
    INGRESS(PUBLISH, "$JS.API.STREAM.MSG.GET.*"),
    INGRESS(PUBLISH, "$JS.API.DIRECT.GET.*"),
    INGRESS(PUBLISH, "$JS.API.CONSUMER.INFO.*.*"),
    INGRESS(PUBLISH, "$JS.API.STREAM.MSG.DELETE.*"),
    INGRESS(PUBLISH, "$JS.API.CONSUMER.CREATE.AX_LATER.>"),
    INGRESS(PUBLISH, "$JS.API.CONSUMER.CREATE.AX_SPILL.>"),
    INGRESS(PUBLISH, "$JS.API.CONSUMER.MSG.NEXT.AX_LATER.*"),
    INGRESS(PUBLISH, "$JS.API.CONSUMER.MSG.NEXT.AX_SPILL.*"),
    INGRESS(PUBLISH, "$JS.ACK.AX_LATER.>"),
    INGRESS(PUBLISH, "$JS.ACK.AX_SPILL.>"),
    INGRESS(PUBLISH, "$JS.ACK.{domain}.*.AX_LATER.>"),
    INGRESS(PUBLISH, "$JS.ACK.{domain}.*.AX_SPILL.>"),
    INGRESS(SUBSCRIBE, "{inbox}"),
    INGRESS(SUBSCRIBE, "ax.submit"),
    INGRESS(SUBSCRIBE, "ax.submit.>"),
    INGRESS(SUBSCRIBE, "ax.record.*"),
    INGRESS(SUBSCRIBE, "ax.figures"),
    INGRESS(SUBSCRIBE, "ax.later.>"),
    INGRESS(SUBSCRIBE, "ax.dead.>"),
    INGRESS(SUBSCRIBE, "ax.refused.*.*"),
    INGRESS(SUBSCRIBE, "ax.held.*.*"),
    INGRESS(SUBSCRIBE, "$KV.AX_DONE.>"),
    INGRESS(SUBSCRIBE, "$KV.AX_POOLS.>"),
    INGRESS(SUBSCRIBE, "$JS.EVENT.ADVISORY.STREAM.>"),
    INGRESS(SUBSCRIBE, "$JS.EVENT.ADVISORY.CONSUMER.DELETED.>"),
    INGRESS(SUBSCRIBE, "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.>"),
#undef INGRESS

#define DISPATCH(way, subject) {RIGHTS_DISPATCH, RIGHTS_##way, RIGHTS_OWN, subject}
    DISPATCH(PUBLISH, "{answers}"),
    DISPATCH(PUBLISH, "ax.work.>"),
    DISPATCH(PUBLISH, "ax.later.>"),
    DISPATCH(PUBLISH, "ax.dead.>"),
    DISPATCH(PUBLISH, "ax.revoke.>"),
    DISPATCH(PUBLISH, "ax.held.*.*"),
    DISPATCH(PUBLISH, "ax.acked.*"),
    DISPATCH(PUBLISH, "$KV.AX_POOLS.*"),
    DISPATCH(PUBLISH, "$KV.AX_DONE.>"),
    DISPATCH(PUBLISH, "$KV.AX_LEASES.>"),
    DISPATCH(PUBLISH, "$JS.API.STREAM.NAMES"),
    DISPATCH(PUBLISH, "$JS.API.STREAM.LIST"),
    DISPATCH(PUBLISH, "$JS.API.STREAM.INFO.*"),
    DISPATCH(PUBLISH, "$JS.API.STREAM.CREATE.*"),
    DISPATCH(PUBLISH, "$JS.API.STREAM.MSG.GET.*"),
    DISPATCH(PUBLISH, "$JS.API.STREAM.MSG.DELETE.*"),
    DISPATCH(PUBLISH, "$JS.API.DIRECT.GET.*"),
    DISPATCH(PUBLISH, "$JS.API.CONSUMER.INFO.*.*"),
    DISPATCH(PUBLISH, "$JS.API.CONSUMER.CREATE.>"),
    DISPATCH(PUBLISH, "$JS.API.CONSUMER.MSG.NEXT.*.*"),
    DISPATCH(PUBLISH, "$JS.ACK.>"),
    DISPATCH(SUBSCRIBE, "{inbox}"),
    DISPATCH(SUBSCRIBE, "ax.cancel.*.*"),
    DISPATCH(SUBSCRIBE, "ax.worker.*.*"),
    DISPATCH(SUBSCRIBE, "ax.figures"),
    DISPATCH(SUBSCRIBE, "ax.refused.*.*"),
    DISPATCH(SUBSCRIBE, "ax.acked.*"),
    DISPATCH(SUBSCRIBE, "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.*"),
    DISPATCH(SUBSCRIBE, "$JS.ACK.AX_WORK.>"),
    DISPATCH(SUBSCRIBE, "$JS.ACK.*.*.AX_WORK.>"),
    DISPATCH(SUBSCRIBE, "$KV.AX_POOLS.>"),
    DISPATCH(SUBSCRIBE, "$KV.AX_LEASES.>"),
    DISPATCH(SUBSCRIBE, "$JS.EVENT.ADVISORY.STREAM.*.*"),
    DISPATCH(SUBSCRIBE, "$JS.EVENT.ADVISORY.CONSUMER.DELETED.>"),
    DISPATCH(SUBSCRIBE, "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.>"),
    DISPATCH(SUBSCRIBE, "$JS.EVENT.ADVISORY.CONSUMER.PAUSE.AX_WORK.*"),
    DISPATCH(SUBSCRIBE, "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.AX_WORK.>"),
#undef DISPATCH
};
#define RIGHT_COUNT (sizeof(rights) / sizeof(rights[0]))

struct expansion {
    const struct setting *setting;
    const struct team *team; /* NULL: of AX's own user */
    const struct user *user; /* NULL: of none */
    const char *pool;
    const struct right *right;
    rights_each_fn each;
    void *arg;
};

static void expand(const struct expansion *x, const char *text);

/* text with value in place of its first placeholder, and so on with the next one. */
static void put(const struct expansion *x, const char *text, const char *value)
{
    char filled[RIGHT_MAX_CHARS];
    size_t before = strcspn(text, "{");
    snprintf(filled, sizeof(filled), "%.*s%s%s", (int)before, text, value, strchr(text, '}') + 1);
    expand(x, filled);
}

static void put_names(const struct expansion *x, const char *text, const team_name *names,
                      int count)
{
    for (int i = 0; i < count; i++)
        put(x, text, names[i]);
}

static void put_inbox(const struct expansion *x, const char *text)
{
    char inbox[RIGHT_MAX_CHARS];
    rights_inbox(x->setting, x->user, inbox, sizeof(inbox));
    strncat(inbox, ".>", sizeof(inbox) - strlen(inbox) - 1);
    put(x, text, inbox);
}

/* Of teams in other accounts ingress and dispatch see the inboxes that the server makes up for
 * theirs. */
static void put_answers(const struct expansion *x, const char *text)
{
    put(x, text, INBOX_PREFIX ".>");
    if (!x->setting->single)
        put(x, text, "_R_.>");
}

static void expand(const struct expansion *x, const char *text)
{
    const char *at = strchr(text, '{');
    if (at == NULL)
        x->each(x->arg, x->right, text);
    else if (strncmp(at, "{pool}", 6) == 0 && x->pool != NULL)
        put(x, text, x->pool);
    else if (strncmp(at, "{pool}", 6) == 0)
        put_names(x, text, x->team->pools, x->team->pool_count);
    else if (strncmp(at, "{priority}", 10) == 0 && x->team->priority_count == 0)
        put(x, text, "*");
    else if (strncmp(at, "{priority}", 10) == 0)
        put_names(x, text, x->team->priorities, x->team->priority_count);
    else if (strncmp(at, "{domain}", 8) == 0)
        put(x, text, x->setting->domain);
    else if (strncmp(at, "{inbox}", 7) == 0)
        put_inbox(x, text);
    else
        put_answers(x, text);
}

void rights_each(const struct setting *s, const struct user *u, enum rights_way way,
                 rights_each_fn each, void *arg)
{
    for (size_t i = 0; i < RIGHT_COUNT; i++) {
        if ((rights[i].role & u->roles) == 0 || rights[i].way != way)
            continue;
        const struct expansion x = {s, u->team, u, u->pool, &rights[i], each, arg};
        expand(&x, rights[i].subject);
    }
}

void rights_each_export(const struct setting *s, const struct team *t, rights_each_fn each,
                        void *arg)
{
    unsigned roles = 0;
    for (int i = 0; i < s->user_count; i++)
        roles |= s->users[i].team == t ? s->users[i].roles : 0;
    for (size_t i = 0; i < RIGHT_COUNT; i++) {
        if ((rights[i].role & roles) == 0 || rights[i].export == RIGHTS_OWN)
            continue;
        const struct expansion x = {s, t, NULL, NULL, &rights[i], each, arg};
        expand(&x, rights[i].subject);
    }
}

/* A daemon's own inboxes are not among those that daemons answer to (inbox_is_answerable), so
 * nobody can have an answer sent there. */
void rights_inbox(const struct setting *s, const struct user *u, char *out, size_t cap)
{
    if ((u->roles & (RIGHTS_INGRESS | RIGHTS_DISPATCH)) != 0)
        snprintf(out, cap, INBOX_PREFIX "_%s", u->name);
    else if (s->private_inbox)
        snprintf(out, cap, INBOX_PREFIX ".%s", u->name);
    else
        snprintf(out, cap, INBOX_PREFIX);
}
