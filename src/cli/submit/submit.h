/* Makes submissions and reads ingress's answers (docs/protocol.md). */
#ifndef AX_CLI_SUBMIT_SUBMIT_H
#define AX_CLI_SUBMIT_SUBMIT_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "task/names.h"

struct submit_flags {
    const char *priority, *pool, *key, *file;
    /* checked by ingress, which knows what is allowed; NULL: not given */
    const char *max_retry, *backoff, *delay, *at, *expires;
    const char *cron, *time_zone, *overlap, *timeout, *group;
    struct flag_list headers; /* "Name: value" */
    int64_t wait_ms;          /* 0: do not wait */
    int64_t inflight;
    bool retry_busy, lines, json, ordered;
};

/* A new message for ax.submit.<priority>.<pool>, which the caller destroys. key, reply: may be
 * NULL; everything is copied. NULL: failed, after saying why. */
natsMsg *submit_message(const struct submit_flags *f, const char *key, const void *body,
                        size_t bytes, const char *reply);

enum submit_outcome {
    SUBMIT_ACCEPTED,
    SUBMIT_DUPLICATE,
    SUBMIT_BUSY,
    SUBMIT_REFUSED,
    SUBMIT_UNANSWERED /* it is not known whether it was accepted */
};
struct submit_answer {
    enum submit_outcome outcome;
    char id[TASK_ID_CHARS + 1];
    char state[16];
    char stream[64];
    uint64_t seq;
    int64_t retry_after_ms; /* busy */
    bool nobody;            /* unanswered, for nobody listens: certainly not accepted */
    int code, err_code;     /* busy, refused: as in a PubAck; 0: not told */
    char description[512];  /* busy, refused; for people (cli/submit/answer_text.h) */
};
/* Reads ingress's answer (borrowed). Foreign input. */
void submit_parse(struct submit_answer *a, natsMsg *reply);

#endif
