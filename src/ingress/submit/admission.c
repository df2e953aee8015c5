#include "ingress/submit/admission.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/text/quote.h"
#include "ingress/submit/answer.h"
#include "ingress/submit/submits.h"

#define BUSY_RETRY_MS 100
#define POOL_RETRY_MS 250
#define RATE_RETRY_MS 1000
/* The body is in its message, and once more in what is published. Headers are read into a table. */
#define BODY_TIMES 2
#define HEADERS_TIMES 16

static void drop(struct ingress *ing, const char *subject, enum refusal why, const char *text)
{
    static struct log_gate gate;
    char quoted[300], said[400];
    metric_add(ing->counters.memory.dropped[why], 1);
    log_limited(&gate, loop_now_ns(ing->loop), LOG_WARN, "submission without reply subject dropped",
                "subject=%s error=%s", log_quote(subject, quoted, sizeof(quoted)),
                log_quote(text, said, sizeof(said)));
}

static void turn_away(struct ingress *ing, natsMsg *msg, const char *reply, enum refusal why,
                      const struct verdict *v)
{
    if (reply == NULL) {
        drop(ing, natsMsg_GetSubject(msg), why, v->description);
        return;
    }
    metric_add(ing->counters.refused[why], 1);
    answer_send(ing->wire, reply, v);
}

/* The token that names the pool, if there is one; whatever it is, it is its sender's. */
static const char *pool_of(const char *subject)
{
    const char *priority = strlen(subject) > strlen(SUBMIT_PREFIX) ? subject + strlen(SUBMIT_PREFIX)
                                                                   : "";
    const char *dot = strchr(priority, '.');
    return dot != NULL ? dot + 1 : DEFAULT_POOL;
}

static void refuse(struct ingress *ing, natsMsg *msg, const char *reply, enum account_verdict said)
{
    struct verdict v;
    char quoted[QUOTE_MAX];
    const char *pool = quote_text(pool_of(natsMsg_GetSubject(msg)), quoted);
    if (said == ACCOUNT_TOO_FAST) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, RATE_RETRY_MS,
                         "pool %s: more than %" PRId64 " submissions a second "
                         "(--pool-submit-rate), retry in %dms",
                         pool, ing->options->pool_submit_rate, RATE_RETRY_MS);
        turn_away(ing, msg, reply, REFUSED_RATE, &v);
    } else if (said == ACCOUNT_POOL_FULL) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, POOL_RETRY_MS,
                         "ingress holds too much of pool %s, the rest of its memory is kept for "
                         "other pools, retry in %dms",
                         pool, POOL_RETRY_MS);
        turn_away(ing, msg, reply, REFUSED_POOL_MEMORY, &v);
    } else {
        answer_set_error(&v, 503, JSERR_STORE_FULL, BUSY_RETRY_MS,
                         "ingress is busy: it holds as many bytes as it may (--max-memory), retry "
                         "in %dms",
                         BUSY_RETRY_MS);
        turn_away(ing, msg, reply, REFUSED_MEMORY, &v);
    }
}

static bool has_too_long_headers(struct ingress *ing, natsMsg *msg, const char *reply,
                                 int64_t header_bytes)
{
    struct verdict v;
    if (header_bytes <= ADMISSION_HEADERS_MAX_BYTES)
        return false;
    answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0,
                     "headers of %" PRId64 " bytes are not allowed; they may have %d at most",
                     header_bytes, ADMISSION_HEADERS_MAX_BYTES);
    turn_away(ing, msg, reply, REFUSED_INVALID, &v);
    return true;
}

bool admission_take(struct ingress *ing, natsMsg *msg, const char *reply, int64_t bytes,
                    struct charge *c)
{
    int64_t body_bytes = natsMsg_GetDataLength(msg), header_bytes = bytes - body_bytes;
    const char *pool = pool_of(natsMsg_GetSubject(msg));
    struct verdict v;
    if (has_too_long_headers(ing, msg, reply, header_bytes))
        return false;
    if (reply != NULL && submits_are_full(ing->submits)) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, BUSY_RETRY_MS, "ingress is busy, retry in %dms",
                         BUSY_RETRY_MS);
        turn_away(ing, msg, reply, REFUSED_BUSY, &v);
        return false;
    }
    enum account_verdict said = account_take(
        ing->account, pool, strlen(pool),
        BODY_TIMES * body_bytes + HEADERS_TIMES * header_bytes + ADMISSION_TASK_BYTES,
        loop_now_ns(ing->loop), c);
    if (said != ACCOUNT_TAKEN)
        refuse(ing, msg, reply, said);
    return said == ACCOUNT_TAKEN;
}

bool admission_take_batch(struct ingress *ing, natsMsg *msg, const char *reply, size_t count,
                          size_t unpacked_bytes, struct charge *c)
{
    if (account_add(ing->account, c, (int64_t)(unpacked_bytes + count * ADMISSION_TASK_BYTES),
                    (int64_t)count - 1))
        return true;
    refuse(ing, msg, reply, ACCOUNT_FULL);
    return false;
}
