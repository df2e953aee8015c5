/* Demand behind the parser of pull requests: whatever is asked for, in whatever order pulls are
 * added, granted, given back, ended, reconciled and forgotten. The first byte of each step chooses,
 * a pull request is what follows it up to a newline. */
#include <stdlib.h>
#include <string.h>

#include "bus/pull.h"
#include "check.h"
#include "dispatch/pool/demand.h"

#define HELD_MAX 64
#define LIMIT 1000

struct run {
    struct demand d;
    struct pull *held[HELD_MAX]; /* one for each hand-off under way */
    int held_count;
    int64_t now_ns, batch;
};

static void check(struct run *r)
{
    int count = 0;
    int64_t left = 0;
    for (const struct pull *p = r->d.waiting; p != NULL; p = p->next, count++) {
        CHECK(p->queued && p->left >= 1 && p->left <= PULL_BATCH_MAX && p->unacked >= 0);
        left += p->left;
    }
    CHECK(count == r->d.count && count <= DEMAND_WAITING_MAX && r->d.undelivered >= 0);
    int64_t grantable = demand_grantable(&r->d, r->batch, LIMIT, r->now_ns);
    CHECK(grantable >= 0 && grantable <= LIMIT && grantable <= left);
}

static struct pull *let_go(struct run *r, uint8_t which)
{
    int i = which % r->held_count;
    struct pull *p = r->held[i];
    r->held[i] = r->held[--r->held_count];
    return p;
}

static void ask(struct run *r, const char *data, size_t size)
{
    const char *end = memchr(data, '\n', size);
    struct pull_request request;
    if (!pull_parse(data, end != NULL ? (size_t)(end - data) : size, &request))
        return;
    CHECK(request.batch >= 1 && request.batch <= PULL_BATCH_MAX);
    CHECK(request.expires_ns >= 0 && request.expires_ns <= PULL_EXPIRES_MAX_NS);
    demand_add(&r->d, &request, r->batch, r->now_ns);
}

static void grant(struct run *r)
{
    struct pull *p = r->held_count < HELD_MAX ? demand_next(&r->d, r->batch, r->now_ns) : NULL;
    if (p == NULL)
        return;
    CHECK(p->expires_ns > r->now_ns && p->unacked < r->batch);
    demand_take(&r->d, p);
    r->held[r->held_count++] = p;
}

static void step(struct run *r, uint8_t what, const uint8_t *data, size_t size)
{
    uint8_t more = size > 0 ? data[0] : 0;
    int64_t number = 0;
    memcpy(&number, data, size < sizeof(number) ? size : sizeof(number));
    switch (what % 8) {
    case 0:
    case 1:
        ask(r, (const char *)data, size);
        break;
    case 2:
        grant(r);
        break;
    case 3:
        if (r->held_count > 0)
            demand_give_back(&r->d, let_go(r, more));
        break;
    case 4:
        if (r->held_count > 0)
            demand_ended(&r->d, let_go(r, more));
        break;
    case 5:
        demand_reconcile(&r->d, more % 32 == 31 ? (number & INT64_MAX) : more % 32,
                         more >= 128 ? (number & INT64_MAX) : 0, r->batch, r->now_ns);
        break;
    case 6:
        r->now_ns += more % 2 == 0 ? (int64_t)more * 1000000000LL
                                   : (INT64_MAX - r->now_ns) / 256 * more;
        break;
    default:
        demand_forget(&r->d);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = {.batch = 1};
    if (size < 1)
        return 0;
    r.batch += data[0];
    for (size_t i = 1; i < size && i < 400; i++) {
        step(&r, data[i], data + i + 1, size - i - 1);
        check(&r);
    }
    while (r.held_count > 0)
        demand_ended(&r.d, let_go(&r, 0));
    demand_forget(&r.d);
    CHECK(r.d.count == 0 && r.d.waiting == NULL);
    return 0;
}
