/* Many submissions are in flight on one inbox. One thread publishes while there is room, then takes
 * answers. An entry stays until ingress has answered it, or it has been given up. */
#include "cli/submit/submit_lines.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/submit/input.h"
#include "cli/submit/interrupt.h"
#include "cli/submit/progress.h"
#include "task/inbox.h"

#define ANSWER_TIMEOUT_MS 5000
#define KEYED_TRIES 12 /* one minute without an answer */
#define TICK_MS 20
#define INTERRUPTED_WAIT_MS 2000

struct entry {
    natsMsg *msg; /* NULL: free */
    bool keyed;
    bool waiting; /* to be sent again, no answer is expected */
    int tries;
    int64_t due_ms; /* when to send again, or to give the answer up */
    int64_t line;
    uint32_t use; /* tells a late answer to an earlier use of the entry */
};

struct lines {
    natsConnection *nc;
    struct input in;
    const struct submit_flags *flags;
    natsSubscription *answers;
    char inbox[INBOX_MAX];
    struct entry *entries;
    int size, used;
    int64_t line;
    int64_t accepted, duplicates, busy, refused, unanswered;
    int64_t left;        /* lines that were busy when the command was interrupted */
    char last_busy[512]; /* what ingress said, for the progress; "": nothing */
    struct progress progress;
};

/* "line 7: …" on stderr. */
static void complain(struct lines *l, int64_t line, const char *what)
{
    progress_clear(&l->progress);
    say(CLI_FAILED, "line %" PRId64 ": %s", line, what);
}

static void complain_size(struct lines *l, int64_t line, size_t bytes)
{
    char text[160];
    snprintf(text, sizeof(text),
             "%zu bytes are not allowed; the server takes messages of at most %" PRId64
             " with their headers (max_payload)",
             bytes, natsConnection_GetMaxPayload(l->nc));
    complain(l, line, text);
}

static void drop(struct lines *l, struct entry *e)
{
    natsMsg_Destroy(e->msg);
    e->msg = NULL;
    e->use++;
    l->used--;
}

static void send_entry(struct lines *l, struct entry *e)
{
    e->waiting = false;
    e->tries++;
    e->due_ms = clock_now_ms() + ANSWER_TIMEOUT_MS;
    /* Any other failed publish (reconnecting, buffer full) is an unanswered one: the time-out sends
     * it again. */
    if (natsConnection_PublishMsg(l->nc, e->msg) == NATS_MAX_PAYLOAD) {
        complain_size(l, e->line, (size_t)natsMsg_GetDataLength(e->msg));
        l->refused++;
        drop(l, e);
    }
}

static bool is_refused(struct lines *l, const char *text, size_t bytes)
{
    int64_t most = natsConnection_GetMaxPayload(l->nc);
    if (bytes > 0 && *text == '\t') {
        complain(l, l->line, "the key before the TAB is empty; leave out both");
    } else if (most > 0 && bytes > (size_t)most) {
        complain_size(l, l->line, bytes);
    } else {
        return false;
    }
    l->refused++;
    return true;
}

/* text: one line without its newline. */
static bool add_line(struct lines *l, char *text, size_t bytes)
{
    int slot = 0;
    l->line++;
    if (is_refused(l, text, bytes))
        return true;
    while (l->entries[slot].msg)
        slot++;
    struct entry *e = &l->entries[slot];
    char *tab = memchr(text, '\t', bytes);
    const char *key = NULL, *body = text;
    if (tab) {
        *tab = '\0';
        key = text;
        body = tab + 1;
    }
    char reply[INBOX_MAX + 24];
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
    complain(l, e->line,
             e->keyed ? "no answer"
                      : "no answer; a task without a key is not offered again, since it could then "
                        "run twice");
    drop(l, e);
}

/* Offers it again a while later: after busy, and where it certainly, or by its key, does no harm.
 */
static void send_later(struct entry *e, int64_t after_ms)
{
    e->waiting = true;
    e->due_ms = clock_now_ms() + after_ms;
}

static void unanswered(struct lines *l, struct entry *e, const struct submit_answer *a)
{
    if (a->nobody && e->tries < KEYED_TRIES)
        send_later(e, ANSWER_TIMEOUT_MS / 10);
    else if (e->keyed && e->tries < KEYED_TRIES)
        send_later(e, ANSWER_TIMEOUT_MS / 5);
    else
        lost(l, e);
}

static void handle_answer(struct lines *l, struct entry *e, const struct submit_answer *a)
{
    switch (a->outcome) {
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
        snprintf(l->last_busy, sizeof(l->last_busy), "%s", a->description);
        send_later(e, a->retry_after_ms);
        break;
    case SUBMIT_REFUSED:
        l->refused++;
        complain(l, e->line, a->description);
        drop(l, e);
        break;
    case SUBMIT_UNANSWERED:
        unanswered(l, e, a);
        break;
    }
}

static void take_answer(struct lines *l, natsMsg *msg)
{
    int slot = -1;
    unsigned use = 0;
    const char *tail = natsMsg_GetSubject(msg) + strlen(l->inbox);
    if (sscanf(tail, ".%d.%u", &slot, &use) != 2 || slot < 0 || slot >= l->size)
        return;
    struct entry *e = &l->entries[slot];
    if (e->msg == NULL || e->use != use)
        return;
    struct submit_answer a;
    submit_parse(&a, msg);
    handle_answer(l, e, &a);
}

static void check_due(struct lines *l)
{
    int64_t now = clock_now_ms();
    for (int i = 0; i < l->size; i++) {
        struct entry *e = &l->entries[i];
        if (!e->msg || e->due_ms > now)
            continue;
        if (e->waiting)
            send_entry(l, e);
        else
            lost(l, e);
    }
}

static void sums_text(const struct lines *l, char *buf, size_t cap)
{
    snprintf(buf, cap,
             "accepted %" PRId64 " duplicates %" PRId64 " busy %" PRId64 " refused %" PRId64
             " unanswered %" PRId64,
             l->accepted, l->duplicates, l->busy, l->refused, l->unanswered);
}

static int summary(struct lines *l)
{
    progress_clear(&l->progress);
    if (l->flags->json) {
        output_json(json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "lines", (json_int_t)l->line,
                              "accepted", (json_int_t)l->accepted, "duplicates",
                              (json_int_t)l->duplicates, "busy", (json_int_t)l->busy, "refused",
                              (json_int_t)l->refused, "unanswered", (json_int_t)l->unanswered,
                              "left", (json_int_t)l->left));
    } else {
        char sums[160];
        sums_text(l, sums, sizeof(sums));
        output_print("%s\n", sums);
    }
    return l->refused || l->unanswered || l->left || l->in.failed ? CLI_FAILED : CLI_OK;
}

static void show_progress(struct lines *l)
{
    char sums[160], text[768];
    if (!progress_is_due(&l->progress))
        return;
    sums_text(l, sums, sizeof(sums));
    snprintf(text, sizeof(text), "%s, %d under way%s%s", sums, l->used,
             l->last_busy[0] != '\0' ? "; " : "", l->last_busy);
    l->last_busy[0] = '\0';
    progress_show(&l->progress, text);
}

/* Submits the next line, if there is one and room for it. */
static enum input_result submit_next(struct lines *l, bool *failed)
{
    char *text = NULL;
    size_t bytes = 0;
    enum input_result got = input_next(&l->in, l->used > 0 ? 0 : TICK_MS, &text, &bytes);
    if (got == INPUT_LINE && !add_line(l, text, bytes))
        *failed = true;
    return got;
}

/* Waits for the first for up to wait_ms. */
static void take_answers(struct lines *l, int64_t wait_ms)
{
    natsMsg *msg = NULL;
    bool any = false;
    while (natsSubscription_NextMsg(&msg, l->answers, any ? 0 : wait_ms) == NATS_OK) {
        take_answer(l, msg);
        natsMsg_Destroy(msg);
        any = true;
    }
}

/* Once around: a line, what was answered, what is due. False: a line could not be made a task. */
static bool turn(struct lines *l, bool *more, int64_t *checked_ms)
{
    bool failed = false;
    enum input_result got = INPUT_NONE_YET;
    if (*more && l->used < l->size)
        got = submit_next(l, &failed);
    *more = *more && got != INPUT_END;
    take_answers(l, got != INPUT_LINE && l->used > 0 ? TICK_MS : 0);
    if (clock_now_ms() - *checked_ms >= TICK_MS) {
        *checked_ms = clock_now_ms();
        check_due(l);
        show_progress(l);
    }
    return !failed;
}

static void drop_waiting(struct lines *l)
{
    for (int i = 0; i < l->size; i++) {
        struct entry *e = &l->entries[i];
        if (e->msg == NULL || !e->waiting)
            continue;
        l->left++;
        drop(l, e);
    }
}

/* Lines that are to be offered again are given up at once, those that were just offered after a
 * while: whether they were accepted is what the sums should tell. */
static void give_up(struct lines *l)
{
    int64_t until_ms = clock_now_ms() + INTERRUPTED_WAIT_MS;
    drop_waiting(l);
    while (l->used > 0 && clock_now_ms() < until_ms) {
        take_answers(l, TICK_MS);
        drop_waiting(l);
    }
    l->unanswered += l->used;
}

static int run(struct lines *l)
{
    bool more = true;
    int64_t checked_ms = clock_now_ms();
    progress_begin(&l->progress);
    interrupt_catch();
    while ((more || l->used > 0) && interrupt_signal() == 0) {
        if (!turn(l, &more, &checked_ms))
            return CLI_FAILED;
    }
    if (interrupt_signal() == 0)
        return summary(l);
    give_up(l);
    int code = summary(l);
    say(code,
        "interrupted at line %" PRId64 ": %" PRId64 " of the lines before were busy and are "
        "not accepted, nothing is read after it",
        l->line, l->left);
    return 128 + interrupt_signal();
}

static natsStatus subscribe(struct lines *l)
{
    char wildcard[INBOX_MAX + 2];
    snprintf(wildcard, sizeof(wildcard), "%s.>", inbox_new(l->inbox));
    natsStatus s = natsConnection_SubscribeSync(&l->answers, l->nc, wildcard);
    return s == NATS_OK ? natsSubscription_SetPendingLimits(l->answers, -1, -1) : s;
}

int submit_lines(natsConnection *nc, const struct submit_flags *f)
{
    struct lines l = {.nc = nc, .flags = f, .size = (int)f->inflight};
    int code = CLI_FAILED;
    l.entries = calloc((size_t)l.size, sizeof(*l.entries));
    natsStatus s = l.entries != NULL ? subscribe(&l) : NATS_NO_MEMORY;
    if (l.entries == NULL)
        say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
    else if (s != NATS_OK)
        say(CLI_FAILED, "%s", natsStatus_GetText(s));
    else
        code = run(&l);
    for (int i = 0; l.entries != NULL && i < l.size; i++)
        natsMsg_Destroy(l.entries[i].msg);
    free(l.entries);
    input_free(&l.in);
    natsSubscription_Destroy(l.answers);
    return code;
}
