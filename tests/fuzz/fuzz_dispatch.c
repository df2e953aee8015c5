/* A whole dispatcher without a network: it leads a pool, and hears tasks, pulls, acks, forged acks,
 * and any message on any subject that it listens to, in any order, while time passes. A task is
 * recorded as done only if its worker has acked the very hand-off, whatever somebody else says of
 * it; and when all have ended nothing is left of them. One dispatcher hears all inputs of a run. */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "check.h"
#include "dispatch/dispatch.h"
#include "done/record_batch.h"
#include "fake_wire.h"
#include "open_nats.h"

#define SECOND 1000000000LL
#define HAND_OFFS 512 /* the last ones are remembered */
#define IDS 4096
#define INPUT_STEPS 60
#define ROUNDS 12

/* A hand-off as the server has it. */
struct hand_off {
    uint64_t seq, queue_seq;
    int64_t stored_ns;
    char id[TASK_ID_CHARS + 1];
    bool gone, ended; /* acked, by anybody; its worker has said how it went */
};

static struct dispatch d;
static struct pool *pool;
static struct hand_off hand_offs[HAND_OFFS];
static uint32_t hand_off_count, submitted;
static struct {
    int64_t stored_ns;
    bool acked; /* the task's worker did */
    bool gone;  /* its queue message was acked */
    uint64_t seq;
} tasks[IDS];

static uint32_t number_of(const char *id)
{
    return (uint32_t)strtoul(id, NULL, 16);
}

static void id_of(uint32_t number, char id[TASK_ID_CHARS + 1])
{
    snprintf(id, TASK_ID_CHARS + 1, "%032" PRIx32, number);
}

static bool is_known(uint32_t number)
{
    return number < submitted && submitted - number <= IDS;
}

/* ---- what dispatch publishes */

static void check_done(const char *id)
{
    if (is_known(number_of(id)))
        CHECK(tasks[number_of(id) % IDS].acked);
}

static void check_record(const char *subject, const void *data, size_t bytes)
{
    static struct record_batch batch;
    struct record_batch_name name;
    struct record r;
    if (record_batch_parse_subject(subject, &name)) {
        CHECK(record_batch_unpack(&batch, data, bytes) == AX_OK);
        for (int i = 0; i < batch.count; i++)
            check_done(batch.entries[i].task);
    } else {
        CHECK(record_unpack(&r, data, bytes) == AX_OK);
        if (r.state == RECORD_DONE)
            check_done(subject + strlen(DONE_PREFIX));
    }
}

static void on_work(const char *id)
{
    struct hand_off *h = &hand_offs[hand_off_count++ % HAND_OFFS];
    *h = (struct hand_off){.seq = fake_last_seq(STREAM_WORK) + 1,
                           .stored_ns = FAKE_SERVER_NS + fake_now_ns + 1 + hand_off_count % 977};
    if (is_known(number_of(id)))
        h->queue_seq = tasks[number_of(id) % IDS].seq;
    snprintf(h->id, sizeof(h->id), "%s", id);
}

static void on_publish(const char *subject, const char *reply, const void *data, size_t bytes)
{
    static const char work[] = "ax.work.email.";
    struct ack_subject ack;
    struct ack_payload payload;
    if (reply != NULL && strncmp(subject, work, sizeof(work) - 1) == 0)
        on_work(subject + sizeof(work) - 1);
    else if (strncmp(subject, DONE_PREFIX, sizeof(DONE_PREFIX) - 1) == 0)
        check_record(subject, data, bytes);
    if (!ack_parse_subject(subject, &ack) || strcmp(ack.stream, "AX_HIGH") != 0)
        return;
    ack_parse_payload(data, bytes, &payload);
    for (uint32_t i = 0; i < IDS; i++) {
        if (tasks[i].seq == ack.stream_seq && payload.kind == ACK_ACK)
            tasks[i].gone = true;
    }
}

static bool on_get(const char *stream, uint64_t seq, char subject[160], int64_t *time_ns)
{
    for (uint32_t i = 0; i < HAND_OFFS && strcmp(stream, STREAM_WORK) == 0; i++) {
        const struct hand_off *h = &hand_offs[i];
        if (h->seq == seq && !h->gone) {
            snprintf(subject, 160, "ax.work.email.%s", h->id);
            *time_ns = h->stored_ns;
            return true;
        }
    }
    for (uint32_t i = 0; i < IDS && strcmp(stream, "AX_HIGH") == 0; i++) {
        if (tasks[i].seq == seq && !tasks[i].gone) {
            snprintf(subject, 160, "ax.queue.high.email.%032" PRIx32, i);
            *time_ns = tasks[i].stored_ns;
            return true;
        }
    }
    return false;
}

/* ---- what dispatch hears */

static void deliver_task(uint32_t number)
{
    char id[TASK_ID_CHARS + 1], subject[160], reply[160];
    const char *inbox = fake_pull_of("AX_HIGH.email");
    if (inbox == NULL || tasks[number % IDS].gone)
        return;
    id_of(number, id);
    snprintf(subject, sizeof(subject), "ax.queue.high.email.%s", id);
    snprintf(reply, sizeof(reply), "$JS.ACK.AX_HIGH.email.1.%" PRIu64 ".%" PRIu64 ".%" PRId64 ".0",
             tasks[number % IDS].seq, tasks[number % IDS].seq, tasks[number % IDS].stored_ns);
    fake_deliver(subject, inbox, reply, "x", 1);
}

static void submit(void)
{
    uint32_t number = submitted++;
    tasks[number % IDS].acked = tasks[number % IDS].gone = false;
    tasks[number % IDS].seq = fake_next_seq("AX_HIGH");
    tasks[number % IDS].stored_ns = FAKE_SERVER_NS + fake_now_ns;
    deliver_task(number);
}

static void pull(const void *request, size_t bytes)
{
    fake_deliver("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", NULL, "_INBOX.worker", request, bytes);
}

static void hear_ack(uint64_t seq, int64_t stored_ns, const char *payload, size_t bytes)
{
    char subject[160];
    snprintf(subject, sizeof(subject),
             "$JS.ACK.AX_WORK.email.1.%" PRIu64 ".%" PRIu64 ".%" PRId64 ".0", seq, seq, stored_ns);
    fake_deliver(subject, NULL, "_INBOX.worker", payload, bytes);
}

/* The worker's own word; what it says last counts for nothing once it has acked. */
static void work(struct hand_off *h, const char *payload, size_t bytes)
{
    struct ack_payload parsed;
    if (h->seq == 0 || h->ended)
        return;
    ack_parse_payload(payload, bytes, &parsed);
    bool acks = parsed.kind == ACK_ACK || parsed.kind == ACK_NEXT;
    h->ended = acks || parsed.kind == ACK_NAK || parsed.kind == ACK_TERM;
    h->gone = h->gone || acks || parsed.kind == ACK_TERM;
    if (acks && is_known(number_of(h->id)))
        tasks[number_of(h->id) % IDS].acked = true;
    hear_ack(h->seq, h->stored_ns, payload, bytes);
}

/* Somebody else's, who knows the sequence and about what time it is, but not the very time. Where
 * he is minutes off or acks before the hand-off he is found out at once. */
static void forge(struct hand_off *h, uint8_t how, const char *payload, size_t bytes)
{
    struct ack_payload parsed;
    static const int64_t off_ns[] = {-600 * SECOND, 600 * SECOND, -86400 * SECOND, 1000 * SECOND};
    uint64_t seq = how % 8 == 0 ? fake_last_seq(STREAM_WORK) + 1 + how / 8 : h->seq;
    int64_t stored_ns = how % 8 == 1   ? 0
                        : how % 8 == 2 ? INT64_MAX
                                       : FAKE_SERVER_NS + fake_now_ns + off_ns[how % 4];
    if (seq == h->seq && stored_ns == h->stored_ns)
        return;
    ack_parse_payload(payload, bytes, &parsed);
    h->gone = h->gone || (seq == h->seq && parsed.kind != ACK_NAK && parsed.kind != ACK_PROGRESS &&
                          parsed.kind != ACK_UNKNOWN);
    hear_ack(seq, stored_ns, payload, bytes);
}

/* Any message on any subject that dispatch listens to, but for its own inboxes, and what only
 * dispatchers may publish. */
static void hear_anything(uint8_t which, uint8_t names, const char *data, size_t bytes)
{
    static const char *const words[] = {"email", "high", "AX_WORK", "7", "none"};
    char subject[300] = "";
    size_t count = 0;
    while (fake_subscription(count) != NULL)
        count++;
    const char *pattern = fake_subscription(which % count);
    if (strncmp(pattern, "_INBOX.", 7) == 0 || strncmp(pattern, "ax.acked.", 9) == 0)
        return;
    for (const char *s = pattern; *s != '\0'; s++) {
        size_t n = strlen(subject);
        if (*s == '*' || *s == '>')
            snprintf(subject + n, sizeof(subject) - n, "%s", words[names++ % 5]);
        else
            snprintf(subject + n, sizeof(subject) - n, "%c", *s);
    }
    fake_deliver(subject, NULL, names % 2 == 0 ? "_INBOX.somebody" : NULL, data, bytes);
}

/* ---- a run */

static const char *const words[] = {
    "", "+ACK", "-NAK", "+TERM no", "+WPI", "+NXT", "-NAK {\"delay\":1}", "?"};

static size_t step(const uint8_t *data, size_t size)
{
    uint8_t what = data[0], more = size > 1 ? data[1] : 0;
    const char *text = (const char *)data + (size > 2 ? 2 : size);
    size_t left = size > 2 ? size - 2 : 0;
    const char *end = memchr(text, '\n', left);
    size_t bytes = end != NULL ? (size_t)(end - text) : left;
    const char *word = words[more / 32];
    struct hand_off *h = &hand_offs[(hand_off_count - 1 - more % 32) % HAND_OFFS];
    switch (what % 10) {
    case 0:
    case 1:
        submit();
        break;
    case 2:
        pull("{\"batch\":3,\"expires\":20000000000}", 33);
        break;
    case 3:
        pull(text, bytes);
        break;
    case 4:
    case 5:
        work(h, word, strlen(word));
        break;
    case 6:
        forge(h, what / 10, word, strlen(word));
        break;
    case 7:
        hear_anything(more, what / 10, text, bytes);
        return bytes + 3;
    case 8:
        fake_pass((int64_t)more * SECOND / 32);
        break;
    default:
        if (submitted > 0)
            deliver_task(submitted - 1 - more % (submitted < 32 ? submitted : 32));
    }
    if (what >= 128)
        fake_settle();
    return what % 10 == 3 ? bytes + 3 : 2;
}

/* What was submitted is worked to its end. */
static void finish(void)
{
    for (int i = 0; i < ROUNDS && pool->by_id != NULL; i++) {
        pull("{\"batch\":1000,\"expires\":5000000000}", 35);
        fake_settle();
        for (uint32_t k = 0; k < HAND_OFFS; k++)
            work(&hand_offs[k], "", 0);
        fake_pass(i < 2 ? SECOND / 8 : 3 * SECOND);
        for (uint32_t k = 0; k < 128 && k < submitted; k++)
            deliver_task(submitted - 1 - k);
    }
}

static void check(void)
{
    CHECK(pool->flow.inflight >= 0 && pool->flow.unanswered.count >= 0);
    CHECK(pool->flow.demand.count >= 0 && pool->flow.demand.count <= DEMAND_WAITING_MAX);
    CHECK(pool->acks.pending.count <= PENDING_ACKS_MAX);
    CHECK(HASH_COUNT(pool->acks.superseded) <= SUPERSEDED_MAX);
}

static void start(void)
{
    static struct options o;
    static char *no_arguments[] = {"ax-dispatch", NULL};
    struct problem p;
    int first;
    CHECK(options_parse(&o, FOR_DISPATCH, 1, no_arguments, false, &first, &p) == AX_OK);
    log_init("fuzz", LOG_ERROR);
    fake_on_publish = on_publish;
    fake_stored = on_get;
    fake_now_ns = clock_now_ns();
    fake_keep(STREAM_POOLS, "$KV.AX_POOLS.email", "{\"backoff\":\"1s\",\"adaptive\":true}");
    CHECK(dispatch_start(&d, &o, &p) == AX_OK);
    clock_init_fake(&d.clock, &fake_now_ns);
    fake_pass(30 * SECOND);
    pool = dispatch_pool(&d, "email");
    CHECK(pool != NULL && pool->lead.ready);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (pool == NULL)
        start();
    for (int i = 0; i < INPUT_STEPS && size > 0; i++) {
        size_t used = step(data, size);
        check();
        used = used < size ? used : size;
        data += used;
        size -= used;
    }
    finish();
    check();
    return 0;
}
