/* A whole ingress without a network: submissions with headers, as protobuf and in batches, while
 * its queues are full or not, and any message on any subject that it listens to, in any order,
 * while time passes. Every submission that names a reply subject is answered once, nothing is
 * published where ingress has no business, and in the end nothing is in flight. One ingress hears
 * all inputs of a run. */
#include <string.h>

#include "base/log.h"
#include "bus/jserr.h"
#include "check.h"
#include "fake_wire.h"
#include "ingress/arrivals.h"
#include "ingress/ingress.h"
#include "ingress/submit/submits.h"
#include "open_nats.h"

#define SECOND 1000000000LL
#define INPUT_STEPS 60
#define ASKED_MAX 4096

static struct ingress ing;
static struct clock the_clock;
static bool started;
static uint32_t asked, answered;
static uint8_t answers[ASKED_MAX]; /* to each submission */

static bool begins_with(const char *subject, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++) {
        if (strncmp(subject, *prefixes, strlen(*prefixes)) == 0)
            return true;
    }
    return false;
}

static void on_publish(const char *subject, const char *reply, const void *data, size_t bytes)
{
    static const char *const business[] = {
        "_INBOX.",     "$JS.API.",      "ax.queue.",         "ax.later.",   "ax.spill.", "ax.dead.",
        "ax.refused.", "$KV.AX_POOLS.", "$KV.AX_DONE.cron-", "$JS.ACK.AX_", NULL};
    static const char mine[] = "_INBOX.producer.";
    (void)reply;
    CHECK(begins_with(subject, business));
    if (strncmp(subject, mine, sizeof(mine) - 1) != 0)
        return;
    uint32_t number = (uint32_t)strtoul(subject + sizeof(mine) - 1, NULL, 10);
    CHECK(bytes > 0 && ((const char *)data)[0] != '\0');
    CHECK(number < asked && asked - number <= ASKED_MAX && ++answers[number % ASKED_MAX] == 1);
    answered++;
}

static void submit(uint8_t how, uint8_t which, const char *data, size_t bytes)
{
    static const char *const schemas[] = {"", " Ax-Schema=ax.v1.Task",
                                          " Ax-Schema=ax.v1.TaskBatch"};
    static const char *const rest[] = {"",
                                       " Ax-Group=a",
                                       " Ax-Delay=10s",
                                       " Ax-Cron=@every_1s",
                                       " Ax-Expires=1s",
                                       " Ax-Group=b Ax-Ordered=true"};
    char headers[200], subject[100], reply[64];
    snprintf(headers, sizeof(headers), "Nats-Msg-Id=k%u%s%s", which % 64, schemas[how % 8 % 3],
             rest[how / 8 % 6]);
    snprintf(subject, sizeof(subject), "ax.submit.%s.%s", which % 3 == 0 ? "low" : "high",
             which % 5 == 0 ? "sms" : "email");
    answers[asked % ASKED_MAX] = 0;
    snprintf(reply, sizeof(reply), "_INBOX.producer.%u", asked++);
    fake_deliver_with(headers, subject, reply, data, bytes);
}

/* Any message on any subject that ingress listens to, but for its own inboxes. */
static void hear_anything(uint8_t which, uint8_t names, const char *data, size_t bytes)
{
    static const char *const words[] = {"email", "high", "7", "page", "low", "cron-7", "AX_HIGH"};
    char subject[300] = "";
    size_t count = 0;
    while (fake_subscription(count) != NULL)
        count++;
    const char *pattern = fake_subscription(which % count);
    if (strncmp(pattern, "_INBOX.", 7) == 0 || strncmp(pattern, "ax.submit", 9) == 0)
        return;
    for (const char *s = pattern; *s != '\0'; s++) {
        size_t n = strlen(subject);
        if (*s == '*' || *s == '>')
            snprintf(subject + n, sizeof(subject) - n, "%s", words[names++ % 7]);
        else
            snprintf(subject + n, sizeof(subject) - n, "%c", *s);
    }
    fake_deliver(subject, NULL, names % 2 == 0 ? "_INBOX.somebody" : NULL, data, bytes);
}

static size_t step(const uint8_t *data, size_t size)
{
    uint8_t what = data[0], more = size > 1 ? data[1] : 0;
    const char *text = (const char *)data + (size > 2 ? 2 : size);
    size_t left = size > 2 ? size - 2 : 0;
    const char *end = memchr(text, '\n', left);
    size_t bytes = end != NULL ? (size_t)(end - text) : left;
    if (what >= 128)
        fake_settle();
    switch (what % 8) {
    case 0:
    case 1:
        submit(what / 8 % 16 * 8, more, "x", 1);
        return 2;
    case 2:
    case 3:
        submit(more, what / 8, text, bytes);
        return bytes + 3;
    case 4:
    case 5:
        hear_anything(more, what / 8, text, bytes);
        return bytes + 3;
    case 6:
        fake_pass((int64_t)more * SECOND / 64);
        return 2;
    default:
        fake_is_full = more % 2 == 1;
        return 2;
    }
}

static void start(void)
{
    static struct options o;
    static char *no_arguments[] = {"ax-ingress", NULL};
    struct problem p;
    int first;
    CHECK(options_parse(&o, FOR_INGRESS, 1, no_arguments, false, &first, &p) == AX_OK);
    log_init("fuzz", LOG_ERROR);
    fake_on_publish = on_publish;
    clock_init_fake(&the_clock, &fake_now_ns);
    ing.clock = &the_clock;
    ing.options = &o;
    CHECK(loop_new(&ing.loop, &the_clock) == AX_OK);
    CHECK(wire_open(&ing.wire, &o, ing.loop, "fuzz", NULL, &p) == AX_OK);
    fake_keep(STREAM_POOLS, "$KV.AX_POOLS.email", "{\"group_weight\":3}");
    CHECK(arrivals_connect(&ing.arrivals, &ing, &p) == AX_OK);
    CHECK(ingress_start(&ing, &p) == AX_OK);
    fake_pass(10 * SECOND);
    CHECK(arrivals_are_open(ing.arrivals));
    started = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!started)
        start();
    for (int i = 0; i < INPUT_STEPS && size > 0; i++) {
        size_t used = step(data, size);
        used = used < size ? used : size;
        data += used;
        size -= used;
    }
    fake_is_full = false;
    for (int i = 0; i < 80 && answered < asked; i++)
        fake_pass(SECOND / 2);
    CHECK(answered == asked && submits_in_flight(ing.submits) == 0);
    return 0;
}
