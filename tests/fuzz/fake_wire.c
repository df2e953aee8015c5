#include "fake_wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/text/rfc3339.h"
#include "bus/loop.h"
#include "bus/provision/stream_plan.h"
#include "check.h"

#define SUBS_MAX 512
#define TIMERS_MAX 65536
#define ANSWER_MAX 65536
#define ROUNDS_MAX 10000
#define STREAMS_MAX 16

int64_t fake_now_ns = 1000000000000LL;
bool fake_is_full;
void (*fake_on_publish)(const char *, const char *, const void *, size_t);
bool (*fake_stored)(const char *, uint64_t, char[160], int64_t *);

struct loop {
    struct clock *clock;
    struct loop_timer *timers[TIMERS_MAX + 1]; /* 1-based, in no order */
    int timer_count;
    struct loop_later *laters;
};

struct wire_sub {
    char subject[192];
    wire_handler handler;
    void *arg;
};

struct wire {
    struct loop *loop;
    struct wire_sub subs[SUBS_MAX];
    size_t count;
    int64_t message_bytes;
};

/* An answer on its way. */
struct letter {
    struct letter *prev, *next;
    char subject[160];
    char headers[320]; /* name, '=', value, ' ', …; "": none */
    size_t bytes;
    char data[];
};

static struct loop the_loop;
static struct wire the_wire;
static struct letter *letters;
static struct {
    char name[64];
    uint64_t last_seq;
} streams[STREAMS_MAX];
static char pull_consumer[32][64], pull_reply[32][160];
static int pull_count;
static struct {
    const char *stream, *subject, *data;
} kept = {"", "", ""};

/* ---- loop.h */

ax_err loop_new(struct loop **out, struct clock *clock)
{
    the_loop.clock = clock;
    *out = &the_loop;
    return AX_OK;
}

void loop_enter(struct loop *l)
{
    (void)l;
}

void loop_leave(struct loop *l)
{
    (void)l;
}

bool loop_enter_within(struct loop *l, int64_t limit_ms)
{
    (void)l;
    (void)limit_ms;
    return true;
}

bool loop_stands_still(struct loop *l, char *why, size_t cap)
{
    (void)l;
    (void)why;
    (void)cap;
    return false;
}

void loop_timer_stop(struct loop *l, struct loop_timer *t)
{
    if (t->heap_index == 0)
        return;
    struct loop_timer *last = l->timers[l->timer_count--];
    l->timers[t->heap_index] = last;
    last->heap_index = t->heap_index;
    t->heap_index = 0;
}

void loop_timer_start_ns(struct loop *l, struct loop_timer *t, int64_t delay_ns,
                         void (*fire)(void *), void *arg)
{
    loop_timer_stop(l, t);
    CHECK(l->timer_count < TIMERS_MAX);
    *t = (struct loop_timer){.due_ns = fake_now_ns + (delay_ns > 0 ? delay_ns : 0),
                             .fire = fire,
                             .arg = arg,
                             .heap_index = ++l->timer_count};
    l->timers[t->heap_index] = t;
}

void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ms, void (*fire)(void *),
                      void *arg)
{
    CHECK(delay_ms < INT64_MAX / 1000000 - fake_now_ns / 1000000);
    loop_timer_start_ns(l, t, delay_ms * 1000000, fire, arg);
}

void loop_do_later(struct loop *l, struct loop_later *x, void (*run)(void *), void *arg)
{
    if (x->queued)
        return;
    x->run = run;
    x->arg = arg;
    x->queued = true;
    DL_APPEND(l->laters, x);
}

void loop_on_wake(struct loop *l, void (*wake)(void *), void *arg)
{
    (void)l;
    (void)wake;
    (void)arg;
}

struct clock *loop_clock(struct loop *l)
{
    return l->clock;
}

void loop_stop(struct loop *l)
{
    (void)l;
}

/* ---- the server: what it answers */

static int stream_of(const char *name)
{
    int i = 0;
    while (i < STREAMS_MAX && streams[i].name[0] != '\0' && strcmp(streams[i].name, name) != 0)
        i++;
    CHECK(i < STREAMS_MAX);
    snprintf(streams[i].name, sizeof(streams[i].name), "%s", name);
    return i;
}

void fake_keep(const char *stream, const char *subject, const char *data)
{
    kept.stream = stream;
    kept.subject = subject;
    kept.data = data;
    streams[stream_of(stream)].last_seq = 1;
}

uint64_t fake_last_seq(const char *stream)
{
    return streams[stream_of(stream)].last_seq;
}

uint64_t fake_next_seq(const char *stream)
{
    return ++streams[stream_of(stream)].last_seq;
}

static void answer(const char *reply, const char *headers, const char *data)
{
    size_t bytes = strlen(data);
    struct letter *x = calloc(1, sizeof(*x) + bytes + 1);
    CHECK(x != NULL);
    snprintf(x->subject, sizeof(x->subject), "%s", reply);
    snprintf(x->headers, sizeof(x->headers), "%s", headers);
    memcpy(x->data, data, bytes);
    x->bytes = bytes;
    DL_APPEND(letters, x);
}

static const char *now_text(char buf[40])
{
    return rfc3339_format(FAKE_SERVER_NS + fake_now_ns, buf);
}

static int stream_json(char *out, size_t cap, int i)
{
    char ts[40];
    const struct stream_plan_asset *a = &stream_plan_assets[i];
    return snprintf(out, cap,
                    "{\"config\":%s,\"created\":\"2023-01-01T00:00:00Z\",\"ts\":\"%s\",\"state\":{"
                    "\"messages\":0,\"bytes\":0,\"first_seq\":1,\"last_seq\":%" PRIu64 "}}",
                    a->json, now_text(ts), fake_last_seq(a->name));
}

static void list_streams(char *out, size_t cap, bool names)
{
    size_t used = (size_t)snprintf(out, cap, "{\"total\":%d,\"streams\":[",
                                   stream_plan_asset_count);
    for (int i = 0; i < stream_plan_asset_count; i++) {
        used += (size_t)snprintf(out + used, cap - used, "%s", i > 0 ? "," : "");
        used += names
                    ? (size_t)snprintf(out + used, cap - used, "\"%s\"", stream_plan_assets[i].name)
                    : (size_t)stream_json(out + used, cap - used, i);
    }
    snprintf(out + used, cap - used, "]}");
}

static void consumer_json(char *out, size_t cap, const char *stream)
{
    char ts[40];
    bool work = strcmp(stream, STREAM_WORK) == 0;
    uint64_t last = fake_last_seq(stream);
    snprintf(out, cap,
             "{\"config\":{\"ack_wait\":%lld,\"max_deliver\":%d,\"max_ack_pending\":1000},\"ts\":"
             "\"%s\",\"delivered\":{\"stream_seq\":%" PRIu64 ",\"consumer_seq\":%" PRIu64 "},"
             "\"num_ack_pending\":0,\"num_pending\":0,\"num_waiting\":1}",
             work ? 5000000000LL : 6000000000LL, work ? 1 : -1, now_text(ts), last, last);
}

static void get_message(char *out, size_t cap, const char *stream, const char *request)
{
    char subject[160], time[40];
    int64_t time_ns;
    const char *number = strstr(request, "\"seq\":");
    uint64_t seq = number != NULL ? strtoull(number + 6, NULL, 10) : 0;
    if (fake_stored != NULL && seq != 0 && strstr(request, "_subj") == NULL &&
        fake_stored(stream, seq, subject, &time_ns)) {
        snprintf(out, cap, "{\"message\":{\"subject\":\"%s\",\"seq\":%" PRIu64 ",\"time\":\"%s\"}}",
                 subject, seq, rfc3339_format(time_ns, time));
    } else {
        snprintf(out, cap,
                 "{\"error\":{\"code\":404,\"err_code\":10037,\"description\":\"no message\"}}");
    }
}

/* What a stream holds for good: one message. */
static void read_bucket(const char *reply, const char *stream, const char *request)
{
    char headers[320], time[40];
    const char *number = strstr(request, "\"seq\":");
    bool from_first = number != NULL && strtoull(number + 6, NULL, 10) <= 1;
    if (strcmp(stream, kept.stream) != 0 || !from_first) {
        answer(reply, "Status=404", "");
        return;
    }
    snprintf(headers, sizeof(headers), "Nats-Subject=%s Nats-Sequence=1 Nats-Time-Stamp=%s",
             kept.subject, now_text(time));
    answer(reply, headers, kept.data);
    answer(reply, "Status=204", "");
}

/* The n-th token of a subject, from 0. */
static const char *token(const char *subject, int n, char out[64])
{
    for (; n > 0 && subject != NULL; n--) {
        subject = strchr(subject, '.');
        subject += subject != NULL;
    }
    snprintf(out, 64, "%.*s", subject != NULL ? (int)strcspn(subject, ".") : 0,
             subject != NULL ? subject : "");
    return out;
}

static void note_pull(const char *consumer, const char *reply)
{
    int i = 0;
    while (i < pull_count && strcmp(pull_consumer[i], consumer) != 0)
        i++;
    if (i == 32)
        return;
    pull_count += i == pull_count;
    snprintf(pull_consumer[i], sizeof(pull_consumer[i]), "%s", consumer);
    snprintf(pull_reply[i], sizeof(pull_reply[i]), "%s", reply);
}

const char *fake_pull_of(const char *consumer)
{
    for (int i = 0; i < pull_count; i++) {
        if (strcmp(pull_consumer[i], consumer) == 0)
            return pull_reply[i];
    }
    return NULL;
}

static void serve_api(const char *what, const char *reply, const char *request)
{
    static char out[ANSWER_MAX];
    char stream[64], consumer[80];
    if (strncmp(what, "STREAM.NAMES", 12) == 0 || strncmp(what, "STREAM.LIST", 11) == 0) {
        list_streams(out, sizeof(out), what[7] == 'N');
    } else if (strncmp(what, "STREAM.INFO.", 12) == 0) {
        int i = stream_plan_find(token(what, 2, stream));
        if (i < 0)
            return;
        stream_json(out, sizeof(out), i);
    } else if (strncmp(what, "STREAM.MSG.GET.", 15) == 0) {
        get_message(out, sizeof(out), token(what, 3, stream), request);
    } else if (strncmp(what, "DIRECT.GET.", 11) == 0) {
        read_bucket(reply, token(what, 2, stream), request);
        return;
    } else if (strncmp(what, "CONSUMER.MSG.NEXT.", 18) == 0) {
        snprintf(consumer, sizeof(consumer), "%s", what + 18);
        note_pull(consumer, reply);
        return;
    } else if (strncmp(what, "CONSUMER.", 9) == 0) {
        consumer_json(out, sizeof(out), token(what, 2, stream));
    } else {
        snprintf(out, sizeof(out), "{\"success\":true}");
    }
    answer(reply, "", out);
}

/* A publish into a stream, and what AX acks: each is confirmed. */
static void serve(const char *subject, const char *reply, const char *request)
{
    static const char *const stages[][2] = {
        {"ax.work.", STREAM_WORK},       {"ax.later.", STREAM_LATER},
        {"ax.dead.", STREAM_DEAD},       {"ax.spill.", STREAM_SPILL},
        {"$KV.AX_DONE.", STREAM_DONE},   {"$KV.AX_LEASES.", STREAM_LEASES},
        {"$KV.AX_POOLS.", STREAM_POOLS}, {"ax.queue.", "AX_HIGH"}};
    char text[96];
    if (strncmp(subject, "$JS.API.", 8) == 0) {
        serve_api(subject + 8, reply, request);
        return;
    }
    if (fake_is_full && strncmp(subject, "ax.queue.", 9) == 0) {
        answer(reply, "",
               "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"maximum messages "
               "exceeded\"}}");
        return;
    }
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        if (strncmp(subject, stages[i][0], strlen(stages[i][0])) == 0) {
            snprintf(text, sizeof(text), "{\"stream\":\"%s\",\"seq\":%" PRIu64 "}", stages[i][1],
                     fake_next_seq(stages[i][1]));
            answer(reply, "", text);
            return;
        }
    }
    answer(reply, "", "");
}

/* ---- wire.h */

ax_err wire_open(struct wire **out, const struct options *o, struct loop *l, const char *name,
                 const struct wire_events *events, struct problem *p)
{
    (void)o;
    (void)name;
    (void)events;
    (void)p;
    the_wire.loop = l;
    *out = &the_wire;
    return AX_OK;
}

void wire_close(struct wire *w)
{
    (void)w;
}

struct loop *wire_loop(const struct wire *w)
{
    return w->loop;
}

ax_err wire_subscribe(struct wire *w, struct wire_sub **out, const char *subject, const char *group,
                      wire_handler handler, void *arg)
{
    (void)group;
    CHECK(w->count < SUBS_MAX);
    struct wire_sub *sub = &w->subs[w->count++];
    snprintf(sub->subject, sizeof(sub->subject), "%s", subject);
    sub->handler = handler;
    sub->arg = arg;
    if (out != NULL)
        *out = sub;
    return AX_OK;
}

void wire_limit(struct wire *w, struct wire_sub *sub, int64_t ahead)
{
    (void)w;
    (void)sub;
    (void)ahead;
}

int64_t wire_message_bytes(const struct wire *w)
{
    return w->message_bytes;
}

void wire_measure(struct wire *w, struct wire_sub *sub)
{
    (void)w;
    (void)sub;
}

void wire_retire(struct wire *w, struct wire_sub *sub)
{
    (void)w;
    (void)sub;
}

void wire_on_no_responders(struct wire *w, struct wire_sub *sub, void (*handler)(void *arg))
{
    (void)w;
    (void)sub;
    (void)handler;
}

void wire_drain(struct wire *w, struct wire_sub *sub, int64_t limit_ms)
{
    (void)w;
    (void)sub;
    (void)limit_ms;
}

bool wire_is_drained(struct wire *w, struct wire_sub *sub, bool connected)
{
    (void)w;
    (void)sub;
    return connected;
}

static ax_err send(const char *subject, const char *reply, const void *data, size_t bytes)
{
    char request[512];
    size_t n = bytes < sizeof(request) - 1 ? bytes : sizeof(request) - 1;
    if (n > 0)
        memcpy(request, data, n);
    request[n] = '\0';
    CHECK(subject[0] != '\0' && strpbrk(subject, " \t\r\n*>") == NULL);
    if (fake_on_publish != NULL)
        fake_on_publish(subject, reply, data, bytes);
    if (reply != NULL)
        serve(subject, reply, request);
    return AX_OK;
}

ax_err wire_publish(struct wire *w, const char *subject, const void *data, size_t bytes)
{
    (void)w;
    return send(subject, NULL, data, bytes);
}

ax_err wire_publish_text(struct wire *w, const char *subject, const char *text)
{
    (void)w;
    return send(subject, NULL, text, strlen(text));
}

ax_err wire_publish_msg(struct wire *w, natsMsg *msg)
{
    (void)w;
    return send(natsMsg_GetSubject(msg), natsMsg_GetReply(msg), natsMsg_GetData(msg),
                (size_t)natsMsg_GetDataLength(msg));
}

ax_err wire_request(struct wire *w, const char *subject, const char *reply, const void *data,
                    size_t bytes)
{
    (void)w;
    return send(subject, reply, data, bytes);
}

bool wire_is_away(const struct wire *w)
{
    (void)w;
    return false;
}

void wire_serve_first(struct wire *w, struct wire_sub *sub)
{
    (void)w;
    (void)sub;
}

uint64_t wire_connections(const struct wire *w)
{
    (void)w;
    return 1;
}

bool wire_is_flushed(const struct wire *w)
{
    (void)w;
    return true;
}

int64_t wire_max_payload(const struct wire *w)
{
    (void)w;
    return 1048576;
}

void wire_flush(void *wire)
{
    (void)wire;
}

/* ---- what the target does */

const char *fake_subscription(size_t i)
{
    return i < the_wire.count ? the_wire.subs[i].subject : NULL;
}

static bool matches(const char *pattern, const char *subject)
{
    for (;;) {
        size_t n = strcspn(pattern, "."), m = strcspn(subject, ".");
        if (strcmp(pattern, ">") == 0)
            return m > 0;
        bool any = n == 1 && pattern[0] == '*' && m > 0;
        if (!any && (n != m || memcmp(pattern, subject, n) != 0))
            return false;
        pattern += n;
        subject += m;
        if (*pattern == '\0' || *subject == '\0')
            return *pattern == *subject;
        pattern++;
        subject++;
    }
}

static void add_headers(natsMsg *msg, const char *headers)
{
    char copy[320], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", headers);
    for (char *name = strtok_r(copy, " ", &save); name != NULL; name = strtok_r(NULL, " ", &save)) {
        char *value = strchr(name, '=');
        *value++ = '\0';
        CHECK(natsMsgHeader_Set(msg, name, value) == NATS_OK);
    }
}

static void deliver(const char *subject, const char *inbox, const char *reply, const char *headers,
                    const void *data, size_t bytes)
{
    for (size_t i = 0; i < the_wire.count; i++) {
        const struct wire_sub sub = the_wire.subs[i];
        natsMsg *msg = NULL;
        if (!matches(sub.subject, subject) && (inbox == NULL || !matches(sub.subject, inbox)))
            continue;
        CHECK(natsMsg_Create(&msg, subject, reply, data, (int)bytes) == NATS_OK);
        add_headers(msg, headers);
        the_wire.message_bytes = (int64_t)(bytes + strlen(headers));
        sub.handler(sub.arg, msg);
    }
}

void fake_deliver(const char *subject, const char *inbox, const char *reply, const void *data,
                  size_t bytes)
{
    deliver(subject, inbox, reply, "", data, bytes);
}

void fake_deliver_with(const char *headers, const char *subject, const char *reply,
                       const void *data, size_t bytes)
{
    deliver(subject, NULL, reply, headers, data, bytes);
}

void fake_settle(void)
{
    for (int i = 0; i < ROUNDS_MAX && (letters != NULL || the_loop.laters != NULL); i++) {
        struct loop_later *later = the_loop.laters;
        struct letter *letter = later == NULL ? letters : NULL;
        if (later != NULL) {
            DL_DELETE(the_loop.laters, later);
            later->queued = false;
            later->run(later->arg);
        } else {
            DL_DELETE(letters, letter);
            deliver(letter->subject, NULL, NULL, letter->headers, letter->data, letter->bytes);
            free(letter);
        }
    }
}

void fake_pass(int64_t ns)
{
    int64_t until = fake_now_ns + ns;
    for (int rounds = 0; rounds < ROUNDS_MAX; rounds++) {
        struct loop_timer *first = NULL;
        for (int i = 1; i <= the_loop.timer_count; i++) {
            struct loop_timer *t = the_loop.timers[i];
            if (t->due_ns <= until && (first == NULL || t->due_ns < first->due_ns))
                first = t;
        }
        if (first == NULL)
            break;
        if (first->due_ns > fake_now_ns)
            fake_now_ns = first->due_ns;
        loop_timer_stop(&the_loop, first);
        first->fire(first->arg);
        fake_settle();
    }
    fake_now_ns = until;
}
