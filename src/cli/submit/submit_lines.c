/* `ax submit --lines`: many submissions in flight on one inbox. One thread: publishes while there
 * is room, then takes answers. An entry stays until ingress has said a word about it. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/submit/submit.h"

#define ANSWER_TIMEOUT_MS 5000
#define KEYED_TRIES 12 /* one minute without a word */
#define TICK_MS 20
#define READ_BYTES 65536

struct entry {
    natsMsg *msg; /* NULL: free */
    bool keyed, waiting_busy;
    int tries;
    int64_t due_ms; /* when to send again, or to give the answer up */
    int64_t line;
    uint32_t use; /* tells a late answer to an earlier use of the entry */
};

/* stdin, read without blocking while answers may come. */
struct input {
    char *data;
    size_t cap, filled, taken;
    bool ended;
};

struct lines {
    natsConnection *nc;
    struct input in;
    const struct submit_flags *flags;
    natsSubscription *answers;
    char inbox[64];
    struct entry *entries;
    int size, used;
    int64_t line;
    int64_t accepted, duplicates, busy, refused, unanswered;
};

static void drop(struct lines *l, struct entry *e)
{
    natsMsg_Destroy(e->msg);
    e->msg = NULL;
    e->use++;
    l->used--;
}

static void send_entry(struct lines *l, struct entry *e)
{
    e->waiting_busy = false;
    e->tries++;
    e->due_ms = clock_now_ms() + ANSWER_TIMEOUT_MS;
    /* A failed publish (reconnecting, buffer full) is an unanswered one: the time-out sends it
     * again. */
    natsConnection_PublishMsg(l->nc, e->msg);
}

/* text: one line without its newline. */
static bool add_line(struct lines *l, char *text, size_t bytes)
{
    int slot = 0;
    while (l->entries[slot].msg)
        slot++;
    struct entry *e = &l->entries[slot];
    l->line++;
    char *tab = memchr(text, '\t', bytes);
    const char *key = NULL, *body = text;
    if (tab) {
        *tab = '\0';
        key = tab > text ? text : NULL;
        body = tab + 1;
    }
    char reply[96];
    snprintf(reply, sizeof(reply), "%s.%d.%u", l->inbox, slot, e->use);
    e->msg = submit_message(l->flags, key, body, bytes - (size_t)(body - text), reply);
    if (!e->msg)
        return false;
    e->keyed = key != NULL;
    e->tries = 0;
    e->line = l->line;
    l->used++;
    send_entry(l, e);
    return true;
}

static void lost(struct lines *l, struct entry *e)
{
    if (e->keyed && e->tries < KEYED_TRIES) {
        send_entry(l, e);
        return;
    }
    l->unanswered++;
    say(CLI_FAILED, "line %" PRId64 ": no answer%s", e->line,
        e->keyed ? ""
                 : "; a task without a key is not offered again, since it could then run twice");
    drop(l, e);
}

static void take_answer(struct lines *l, natsMsg *msg)
{
    int slot = -1;
    unsigned use = 0;
    const char *tail = natsMsg_GetSubject(msg) + strlen(l->inbox);
    if (sscanf(tail, ".%d.%u", &slot, &use) != 2 || slot < 0 || slot >= l->size)
        return;
    struct entry *e = &l->entries[slot];
    if (!e->msg || e->use != use)
        return;
    struct submit_answer a;
    submit_parse(&a, msg);
    switch (a.outcome) {
    case SUBMIT_ACCEPTED:
        l->accepted++;
        drop(l, e);
        break;
    case SUBMIT_DUPLICATE:
        l->duplicates++;
        drop(l, e);
        break;
    case SUBMIT_BUSY:
        l->busy++;
        e->waiting_busy = true;
        e->due_ms = clock_now_ms() + a.retry_after_ms;
        break;
    case SUBMIT_REFUSED:
        l->refused++;
        say(CLI_FAILED, "line %" PRId64 ": %s", e->line, a.description);
        drop(l, e);
        break;
    case SUBMIT_UNANSWERED:
        /* Nobody there: certainly not accepted, so anything may be offered again, a while later. */
        if (a.nobody && e->tries < KEYED_TRIES) {
            e->waiting_busy = true;
            e->due_ms = clock_now_ms() + ANSWER_TIMEOUT_MS / 10;
        } else if (e->keyed && e->tries < KEYED_TRIES) {
            e->waiting_busy = true;
            e->due_ms = clock_now_ms() + ANSWER_TIMEOUT_MS / 5;
        } else {
            lost(l, e);
        }
        break;
    }
}

static void check_due(struct lines *l)
{
    int64_t now = clock_now_ms();
    for (int i = 0; i < l->size; i++) {
        struct entry *e = &l->entries[i];
        if (!e->msg || e->due_ms > now)
            continue;
        if (e->waiting_busy)
            send_entry(l, e);
        else
            lost(l, e);
    }
}

static int summary(struct lines *l)
{
    if (l->flags->json) {
        output_json(json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "lines", (json_int_t)l->line, "accepted",
                              (json_int_t)l->accepted, "duplicates", (json_int_t)l->duplicates,
                              "busy", (json_int_t)l->busy, "refused", (json_int_t)l->refused,
                              "unanswered", (json_int_t)l->unanswered));
    } else {
        printf("accepted %" PRId64 " duplicates %" PRId64 " busy %" PRId64 " refused %" PRId64
               " unanswered %" PRId64 "\n",
               l->accepted, l->duplicates, l->busy, l->refused, l->unanswered);
    }
    return l->refused || l->unanswered ? CLI_FAILED : CLI_OK;
}

/* The next line, NUL in place of its newline. 1: *text and *bytes; 0: none yet; -1: no more. */
static int next_line(struct input *in, int wait_ms, char **text, size_t *bytes)
{
    char *start = in->data + in->taken;
    size_t left = in->filled - in->taken;
    char *newline = left ? memchr(start, '\n', left) : NULL;
    if (newline || (in->ended && left)) {
        *text = start;
        *bytes = newline ? (size_t)(newline - start) : left;
        start[*bytes] = '\0';
        in->taken += *bytes + (newline != NULL);
        return 1;
    }
    if (in->ended)
        return -1;
    if (in->taken) {
        memmove(in->data, start, left);
        in->filled = left;
        in->taken = 0;
    }
    if (in->cap - in->filled < READ_BYTES + 1) {
        char *larger = realloc(in->data, in->cap * 2 + READ_BYTES + 1);
        if (!larger) {
            say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
            in->ended = true;
            return -1;
        }
        in->data = larger;
        in->cap = in->cap * 2 + READ_BYTES + 1;
    }
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, wait_ms) <= 0)
        return 0;
    ssize_t n = read(STDIN_FILENO, in->data + in->filled, READ_BYTES);
    if (n > 0)
        in->filled += (size_t)n;
    else if (n == 0 || errno != EINTR)
        in->ended = true;
    return n > 0 ? next_line(in, 0, text, bytes) : 0;
}

static int run(struct lines *l)
{
    bool more = true;
    int64_t checked_ms = clock_now_ms();
    while (more || l->used > 0) {
        natsMsg *msg = NULL;
        bool idle = true;
        if (more && l->used < l->size) {
            char *text = NULL;
            size_t bytes = 0;
            int got = next_line(&l->in, l->used ? 0 : TICK_MS, &text, &bytes);
            if (got > 0 && !add_line(l, text, bytes))
                return CLI_FAILED;
            more = got >= 0;
            idle = got <= 0;
        }
        while (natsSubscription_NextMsg(&msg, l->answers, idle && l->used ? TICK_MS : 0) ==
               NATS_OK) {
            take_answer(l, msg);
            natsMsg_Destroy(msg);
            idle = false;
        }
        if (clock_now_ms() - checked_ms >= TICK_MS) {
            checked_ms = clock_now_ms();
            check_due(l);
        }
    }
    return summary(l);
}

int submit_lines(natsConnection *nc, const struct submit_flags *f)
{
    struct lines l = {.nc = nc, .flags = f, .size = (int)f->inflight};
    natsInbox *inbox = NULL;
    int code = CLI_FAILED;
    char wildcard[80];
    l.entries = calloc((size_t)l.size, sizeof(*l.entries));
    natsStatus s = natsInbox_Create(&inbox);
    if (l.entries && s == NATS_OK) {
        snprintf(l.inbox, sizeof(l.inbox), "%s", inbox);
        snprintf(wildcard, sizeof(wildcard), "%s.>", inbox);
        s = natsConnection_SubscribeSync(&l.answers, nc, wildcard);
        if (s == NATS_OK)
            s = natsSubscription_SetPendingLimits(l.answers, -1, -1);
    }
    if (!l.entries || s != NATS_OK)
        say(CLI_FAILED, "%s", l.entries ? natsStatus_GetText(s) : ax_err_text(AX_E_NOMEM));
    else
        code = run(&l);
    for (int i = 0; l.entries && i < l.size; i++)
        natsMsg_Destroy(l.entries[i].msg);
    free(l.entries);
    free(l.in.data);
    natsSubscription_Destroy(l.answers);
    natsInbox_Destroy(inbox);
    return code;
}
