#include "bus/puller.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/saturate.h"
#include "bus/wire.h"
#include "task/inbox.h"

#define PULLS_MAX 16
#define BOUND_PULLS 2
/* A pull that the server forgot is noticed this late at worst, without heartbeats. */
#define EXPIRES_MS 10000
#define EXPIRES_NS (EXPIRES_MS * 1000000LL)
#define EXPIRES_GRACE_MS 2000
#define LOST_WAIT_MS 1000
#define ELECTED_WAIT_MS 200 /* a new leader announces itself a moment before it takes pulls */

struct pull {
    uint64_t id; /* 0: free */
    int left;    /* messages still to come, as far as can be told */
    int64_t over_ns;
};

struct puller {
    struct wire *wire;
    struct loop *loop;
    struct puller_events events;
    char inbox[INBOX_MAX + 1]; /* with the dot, without the last token */
    char api[192], stream[ACK_STREAM_MAX], consumer[ACK_STREAM_MAX];
    struct log_gate stray;
    struct pull pulls[PULLS_MAX];
    uint64_t next_id;
    int asked, wanted;
    int64_t bound_bytes;   /* of each pull; 0: none */
    int64_t not_before_ns; /* after a "lost": a pause before the next pull */
    struct loop_timer timer;
};

static void ask(struct puller *p);

/* The server serves its waiting pulls in turn, while count_message counts off the oldest. So
 * `asked` may be more than what is left of the pulls that we know. When none is left it is set to
 * 0: otherwise nothing would ever be asked for again. */
static void settle(struct puller *p)
{
    for (int i = 0; i < PULLS_MAX; i++) {
        if (p->pulls[i].id != 0)
            return;
    }
    p->asked = 0;
}

static void on_timer(void *arg)
{
    struct puller *p = arg;
    int64_t now = loop_now_ns(p->loop);
    for (int i = 0; i < PULLS_MAX; i++) {
        if (p->pulls[i].id != 0 && p->pulls[i].over_ns <= now) {
            p->asked -= p->pulls[i].left;
            p->pulls[i].id = 0;
        }
    }
    settle(p);
    ask(p);
}

static void arm(struct puller *p)
{
    int64_t due = p->not_before_ns > loop_now_ns(p->loop) ? p->not_before_ns : INT64_MAX;
    for (int i = 0; i < PULLS_MAX; i++) {
        if (p->pulls[i].id != 0 && p->pulls[i].over_ns < due)
            due = p->pulls[i].over_ns;
    }
    if (due != INT64_MAX && (!loop_timer_is_running(&p->timer) || p->timer.due_ns > due))
        loop_timer_start_ns(p->loop, &p->timer, due - loop_now_ns(p->loop), on_timer, p);
}

static int free_slot(const struct puller *p)
{
    int most = p->bound_bytes > 0 ? BOUND_PULLS : PULLS_MAX;
    for (int i = 0; i < most; i++) {
        if (p->pulls[i].id == 0)
            return i;
    }
    return -1;
}

static int format_pull(const struct puller *p, int batch, char *out, size_t cap)
{
    int64_t longest = 2 * wire_max_payload(p->wire);
    if (p->bound_bytes == 0)
        return snprintf(out, cap, "{\"batch\":%d,\"expires\":%lld}", batch, EXPIRES_NS);
    return snprintf(out, cap, "{\"batch\":%d,\"expires\":%lld,\"max_bytes\":%" PRId64 "}", batch,
                    EXPIRES_NS, p->bound_bytes > longest ? p->bound_bytes : longest);
}

/* One pull for what is wanted and not yet asked for. While many messages are on their way it waits
 * until half of what is wanted is missing, rather than ask for each one. */
static void ask(struct puller *p)
{
    int missing = p->wanted - p->asked;
    int slot = free_slot(p);
    int64_t now = loop_now_ns(p->loop);
    if (missing > 0 && (p->asked == 0 || missing * 2 >= p->wanted) && slot >= 0 &&
        p->not_before_ns <= now) {
        char reply[INBOX_MAX + 18], body[128];
        uint64_t id = ++p->next_id;
        snprintf(reply, sizeof(reply), "%s%" PRIx64, p->inbox, id);
        int n = format_pull(p, missing, body, sizeof(body));
        if (wire_request(p->wire, p->api, reply, body, (size_t)n) == AX_OK) {
            p->pulls[slot] = (struct pull){id, missing,
                                           now + (EXPIRES_MS + EXPIRES_GRACE_MS) * 1000000LL};
            p->asked += missing;
        } else {
            p->not_before_ns = now + LOST_WAIT_MS * 1000000LL;
        }
    }
    arm(p);
}

static void lost(struct puller *p)
{
    if (p->not_before_ns > loop_now_ns(p->loop))
        return;
    p->not_before_ns = loop_now_ns(p->loop) + LOST_WAIT_MS * 1000000LL;
    if (p->events.lost != NULL)
        p->events.lost(p->events.arg);
}

/* The pulls ended with the former leader, which may have had no time to say so. */
static void on_elected(void *arg, natsMsg *msg)
{
    struct puller *p = arg;
    memset(p->pulls, 0, sizeof(p->pulls));
    p->asked = 0;
    p->not_before_ns = loop_now_ns(p->loop) + ELECTED_WAIT_MS * 1000000LL;
    arm(p);
    natsMsg_Destroy(msg);
}

/* The consumer has no leader, or does not exist. Which of our pulls this answers is not told: none
 * is counted on any more. */
static void on_no_responders(void *arg)
{
    struct puller *p = arg;
    memset(p->pulls, 0, sizeof(p->pulls));
    p->asked = 0;
    lost(p);
    arm(p);
}

/* The server wrote it, or somebody who knows our inbox. */
static int count_of(const char *text)
{
    return (int)saturate_clamp(strtoll(text, NULL, 10), 0, INT_MAX);
}

/* 408: expired; 404: no message; 409: as many bytes as were asked for, or the consumer changed, was
 * deleted or moved; 503: the server shuts down. */
static bool is_ordinary(natsMsg *msg, const char *status)
{
    const char *text = NULL;
    if (strcmp(status, "409") == 0 && natsMsgHeader_Get(msg, "Description", &text) == NATS_OK) {
        return strcmp(text, "Batch Completed") == 0 ||
               strcmp(text, "Message Size Exceeds MaxBytes") == 0;
    }
    return strcmp(status, "408") == 0 || strcmp(status, "404") == 0;
}

static void on_status(struct puller *p, const char *subject, natsMsg *msg)
{
    const char *status = NULL, *pending = NULL;
    if (natsMsgHeader_Get(msg, "Status", &status) != NATS_OK || status == NULL ||
        strcmp(status, "100") == 0)
        return;
    uint64_t id = strtoull(subject + strlen(p->inbox), NULL, 16);
    natsMsgHeader_Get(msg, "Nats-Pending-Messages", &pending);
    for (int i = 0; i < PULLS_MAX; i++) {
        if (p->pulls[i].id != id)
            continue;
        /* The server's count is exact; count_message may have taken a message off another pull. */
        p->asked -= pending != NULL ? count_of(pending) : p->pulls[i].left;
        if (p->asked < 0)
            p->asked = 0;
        p->pulls[i].id = 0;
    }
    settle(p);
    if (!is_ordinary(msg, status))
        lost(p);
}

static void count_message(struct puller *p)
{
    if (p->asked > 0)
        p->asked--;
    if (p->wanted > 0)
        p->wanted--;
    struct pull *oldest = NULL;
    for (int i = 0; i < PULLS_MAX; i++) {
        if (p->pulls[i].id != 0 && p->pulls[i].left > 0 &&
            (oldest == NULL || p->pulls[i].id < oldest->id))
            oldest = &p->pulls[i];
    }
    if (oldest != NULL && --oldest->left == 0)
        oldest->id = 0;
    settle(p);
}

static void drop(struct puller *p, natsMsg *msg)
{
    char subject[200];
    log_limited(&p->stray, loop_now_ns(p->loop), LOG_WARN,
                "message that the consumer did not send, dropped",
                "stream=%s consumer=%s subject=%s", p->stream, p->consumer,
                log_quote(natsMsg_GetSubject(msg), subject, sizeof(subject)));
    natsMsg_Destroy(msg);
}

static void on_message(void *arg, natsMsg *msg)
{
    struct puller *p = arg;
    struct ack_subject ack;
    const char *subject = natsMsg_GetSubject(msg), *reply = natsMsg_GetReply(msg);
    if (strncmp(subject, p->inbox, strlen(p->inbox)) == 0) {
        on_status(p, subject, msg);
        natsMsg_Destroy(msg);
        ask(p);
    } else if (reply != NULL && ack_parse_subject_of(reply, p->stream, p->consumer, &ack)) {
        count_message(p);
        p->events.message(p->events.arg, msg, &ack);
    } else {
        drop(p, msg);
    }
}

ax_err puller_new(struct puller **out, struct wire *wire, struct loop *l, const char *stream,
                  const char *consumer, const struct puller_events *events)
{
    struct puller *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AX_E_NOMEM;
    p->wire = wire;
    p->loop = l;
    p->events = *events;
    snprintf(p->stream, sizeof(p->stream), "%s", stream);
    snprintf(p->consumer, sizeof(p->consumer), "%s", consumer);
    snprintf(p->api, sizeof(p->api), "$JS.API.CONSUMER.MSG.NEXT.%s.%s", stream, consumer);
    char inbox[INBOX_MAX], subject[INBOX_MAX + 2], elected[192];
    snprintf(elected, sizeof(elected), "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.%s.%s", stream,
             consumer);
    snprintf(p->inbox, sizeof(p->inbox), "%s.", inbox_new(inbox));
    snprintf(subject, sizeof(subject), "%s*", p->inbox);
    struct wire_sub *sub;
    ax_err err = wire_subscribe(wire, &sub, subject, NULL, on_message, p);
    if (err == AX_OK)
        err = wire_subscribe(wire, NULL, elected, NULL, on_elected, p);
    if (err != AX_OK) {
        free(p);
        return err;
    }
    wire_on_no_responders(wire, sub, on_no_responders);
    *out = p;
    return AX_OK;
}

void puller_want(struct puller *p, int n)
{
    p->wanted = n;
    ask(p);
}

void puller_bound(struct puller *p, int64_t bytes)
{
    p->bound_bytes = bytes;
}

void puller_reconnected(struct puller *p)
{
    memset(p->pulls, 0, sizeof(p->pulls));
    p->asked = 0;
    p->not_before_ns = 0;
    ask(p);
}
