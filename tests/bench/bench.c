/* The load of scripts/bench: one producer and one worker in one process, over the same pipeline and
 * puller that AX itself uses, so that what differs between the modes is the road and not the
 * client.
 *
 *   bench MODE N    MODE raw: publish to a work-queue stream, pull, ack (stream AX_BENCH, made
 *   here)
 *                   keyed, keyless: ax.submit.normal.bench, worker on AX_WORK, until every task is
 *                   done
 *                   idle: N tasks one after another; submit → worker's callback
 *
 * Prints one line: "raw 51234 tasks/s", "idle p50_ms 0.41 p99_ms 0.90". */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "bus/loop.h"
#include "bus/pipeline.h"
#include "bus/puller.h"
#include "bus/wire.h"
#include "task/names.h"

#define BODY_BYTES 128
#define IDLE_GAP_MS 5
#define BUSY_MS 5

struct bench {
    struct clock clock;
    struct loop *loop;
    struct wire *producer, *worker;
    struct pipeline *pipeline, *control;
    struct puller *puller;
    const char *mode, *subject, *stream;
    bool keyed, idle;
    long n, submitted, answered, worked, busy, duplicates, keys;
    long window, pulls;
    long again; /* refused as busy: to be submitted again */
    int64_t start_ns, end_ns, sent_ns;
    double *latency_ms;
    struct loop_timer timer;
    char body[BODY_BYTES];
};

static void submit(struct bench *b);

static void fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    _exit(1);
}

static void on_submit_timer(void *arg)
{
    submit(arg);
}

static void on_answer(void *arg, const struct answer *a)
{
    struct bench *b = arg;
    if (a->err == AX_E_SERVER && a->err_code == JSERR_STORE_FULL) {
        b->busy++;
        b->again++;
        loop_timer_start(b->loop, &b->timer, BUSY_MS, on_submit_timer, b);
        return;
    }
    if (a->err != AX_OK) {
        fprintf(stderr, "bench: %s: %s\n", ax_err_text(a->err), a->description);
        _exit(1);
    }
    b->answered++;
    if (a->duplicate)
        b->duplicates++;
    if (!b->idle)
        submit(b);
}

static void submit_one(struct bench *b)
{
    char reply[PIPELINE_REPLY_MAX], key[64];
    natsMsg *msg = NULL;
    if (pipeline_reserve(b->pipeline, reply) != AX_OK)
        fail("no slot");
    if (natsMsg_Create(&msg, b->subject, reply, b->body, BODY_BYTES) != NATS_OK)
        fail("no memory");
    if (b->keyed) {
        snprintf(key, sizeof(key), "order-%" PRId64 "-%ld", b->start_ns, ++b->keys);
        natsMsgHeader_Set(msg, HDR_MSG_ID, key);
    }
    b->sent_ns = loop_now_ns(b->loop);
    if (pipeline_publish(b->pipeline, reply, msg, 0, on_answer, b) != AX_OK)
        fail("publish");
}

static void submit(struct bench *b)
{
    long limit = b->idle ? 1 : b->window;
    while (b->submitted - b->again - b->worked < limit && pipeline_room(b->pipeline) > 1 &&
           (b->again > 0 || b->submitted < b->n)) {
        if (b->again > 0)
            b->again--;
        else
            b->submitted++;
        submit_one(b);
    }
}

static void check_drained(void *arg);

static void on_info(void *arg, const struct answer *a)
{
    struct bench *b = arg;
    json_t *root = a->err != AX_OK ? NULL
                                   : json_loadb(natsMsg_GetData(a->reply),
                                                (size_t)natsMsg_GetDataLength(a->reply), 0, NULL);
    json_t *messages = json_object_get(json_object_get(root, "state"), "messages");
    bool drained = messages != NULL && json_integer_value(messages) == 0;
    json_decref(root);
    if (drained) {
        b->end_ns = loop_now_ns(b->loop);
        loop_stop(b->loop);
    } else {
        loop_timer_start(b->loop, &b->timer, 1, check_drained, b);
    }
}

/* "Ack recorded": the queue message is gone. */
static void check_drained(void *arg)
{
    struct bench *b = arg;
    char api[96];
    snprintf(api, sizeof(api), "$JS.API.STREAM.INFO.%s", b->stream);
    pipeline_request(b->control, api, NULL, 0, 5000, on_info, b);
}

static void on_task(void *arg, natsMsg *msg, const struct ack_subject *ack)
{
    struct bench *b = arg;
    (void)ack;
    if (b->idle)
        b->latency_ms[b->worked] = (double)(loop_now_ns(b->loop) - b->sent_ns) / 1e6;
    wire_publish(b->worker, puller_ack_subject(msg), "", 0);
    natsMsg_Destroy(msg);
    b->worked++;
    puller_want(b->puller, (int)b->pulls);
    if (b->worked == b->n)
        check_drained(b);
    else if (b->idle)
        loop_timer_start(b->loop, &b->timer, IDLE_GAP_MS, on_submit_timer, b);
    else
        submit(b);
}

static void on_ready(void *arg, const struct answer *a)
{
    struct bench *b = arg;
    if (a->err != AX_OK)
        fail("set-up request unanswered");
    struct puller_events events = {on_task, NULL, b};
    const char *stream = strcmp(b->mode, "raw") == 0 ? "AX_BENCH" : STREAM_WORK;
    if (puller_new(&b->puller, b->worker, b->loop, stream, "bench", &events) != AX_OK)
        fail("puller");
    puller_want(b->puller, (int)b->pulls);
    b->start_ns = loop_now_ns(b->loop);
    submit(b);
}

static void on_stream(void *arg, const struct answer *a)
{
    struct bench *b = arg;
    (void)a;
    static const char consumer[] =
        "{\"stream_name\":\"AX_BENCH\",\"config\":{\"durable_name\":\"bench\",\"ack_policy\":"
        "\"explicit\",\"max_ack_pending\":4000}}";
    pipeline_request(b->control, "$JS.API.CONSUMER.DURABLE.CREATE.AX_BENCH.bench", consumer,
                     sizeof(consumer) - 1, 5000, on_ready, b);
}

static void set_up(struct bench *b)
{
    static const char stream[] =
        "{\"name\":\"AX_BENCH\",\"subjects\":[\"axbench.>\"],\"retention\":\"workqueue\",\"max_"
        "msgs\":5000,\"discard\":\"new\","
        "\"storage\":\"file\",\"num_replicas\":1}";
    if (strcmp(b->mode, "raw") == 0) {
        pipeline_request(b->control, "$JS.API.STREAM.CREATE.AX_BENCH", stream, sizeof(stream) - 1,
                         5000, on_stream, b);
    } else {
        pipeline_request(b->control, "$JS.API.CONSUMER.INFO.AX_WORK.bench", NULL, 0, 5000, on_ready,
                         b);
    }
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, c = *(const double *)y;
    return a < c ? -1 : a > c;
}

static void report(struct bench *b)
{
    if (b->idle) {
        qsort(b->latency_ms, (size_t)b->n, sizeof(*b->latency_ms), by_value);
        printf("idle p50_ms %.2f p99_ms %.2f\n", b->latency_ms[b->n / 2],
               b->latency_ms[b->n * 99 / 100]);
    } else {
        printf("%s %.0f tasks/s busy %ld duplicates %ld\n", b->mode,
               (double)b->n / ((double)(b->end_ns - b->start_ns) / 1e9), b->busy, b->duplicates);
    }
}

int main(int argc, char **argv)
{
    struct bench b = {.window = 3000, .pulls = 2000, .stream = "AX_NORMAL"};
    struct options o = {.server = getenv("NATS_URL")};
    struct problem p;
    if (argc != 3 || (b.n = atol(argv[2])) <= 0)
        fail("usage: bench raw|keyed|keyless|idle N");
    b.mode = argv[1];
    b.keyed = strcmp(b.mode, "keyless") != 0 && strcmp(b.mode, "raw") != 0;
    b.idle = strcmp(b.mode, "idle") == 0;
    bool raw = strcmp(b.mode, "raw") == 0;
    b.subject = raw ? "axbench.task" : "ax.submit.normal.bench";
    if (raw)
        b.stream = "AX_BENCH";
    b.latency_ms = calloc((size_t)b.n, sizeof(*b.latency_ms));
    log_init("bench", LOG_WARN);
    loop_block_signals();
    clock_init(&b.clock);
    if (b.latency_ms == NULL || loop_new(&b.loop, &b.clock) != AX_OK)
        fail("no memory");
    if (wire_open(&b.producer, &o, b.loop, "bench producer", NULL, &p) != AX_OK ||
        wire_open(&b.worker, &o, b.loop, "bench worker", NULL, &p) != AX_OK)
        fail(p.text);
    loop_enter(b.loop);
    if (pipeline_new(&b.pipeline, b.producer, b.loop, 8192) != AX_OK ||
        pipeline_new(&b.control, b.worker, b.loop, 64) != AX_OK)
        fail("pipeline");
    set_up(&b);
    loop_leave(b.loop);
    loop_run(b.loop);
    report(&b);
    fflush(stdout);
    _exit(0);
}
