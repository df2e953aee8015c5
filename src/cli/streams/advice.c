#include "cli/streams/advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/saturate.h"
#include "base/text/duration.h"
#include "cli/output.h"
#include "task/settings.h"

#define ENOUGH_ATTEMPTS 20 /* of fewer a 99th percentile says nothing */

/* Twice of it, rounded up to a number that a person would write. */
static int64_t suggested_ms(double ms)
{
    double wanted = 2 * ms, step = wanted < 1000     ? 100
                                   : wanted < 10000  ? 1000
                                   : wanted < 120000 ? 5000
                                                     : 60000;
    return (int64_t)(ceil(wanted / step) * step);
}

bool advice_ack_wait(const char *pool, const struct stats_pool *s, struct advice *out)
{
    char wait[32], p99[32], better[48];
    if (!s->answered || s->silence.count < ENOUGH_ATTEMPTS ||
        (double)s->ack_wait_ms >= 2 * s->silence.p99_ms)
        return false;
    snprintf(out->text, sizeof(out->text),
             "ack_wait %s is under twice the %s that the slowest 1%% of the attempts take without "
             "a word of their worker",
             output_seconds(saturate_mul(s->ack_wait_ms, 1000000), wait),
             output_seconds((int64_t)(s->silence.p99_ms * 1e6), p99));
    snprintf(
        out->fix, sizeof(out->fix),
        "nats consumer edit AX_WORK %s --wait %s -f, or let workers say in-progress more often",
        pool, duration_format(suggested_ms(s->silence.p99_ms), better));
    return true;
}

bool advice_settings(const char *pool, const char *json, struct advice *out)
{
    struct settings s;
    struct problem p = {0};
    if (settings_parse(&s, json, strlen(json), &p) != AX_E_INVALID)
        return false;
    snprintf(
        out->text, sizeof(out->text),
        "its settings cannot be read (%.140s): it goes on with the former ones, or rests where "
        "none are known",
        p.text);
    snprintf(out->fix, sizeof(out->fix), "nats kv put AX_POOLS %s '{\"rate\":50}'", pool);
    return true;
}

bool advice_late_acks(const char *pool, const struct stats_pool *s, struct advice *out)
{
    char wait[32], ago[32];
    if (!s->answered || s->five_minutes.late_acks == 0)
        return false;
    snprintf(out->text, sizeof(out->text),
             "living workers are declared dead: %" PRId64
             " of the attempts that timed out in the last %s were acked after all, "
             "ack_wait %s was too short for them",
             s->five_minutes.late_acks,
             output_seconds((int64_t)(s->five_minutes.seconds * 1e9), ago),
             output_seconds(saturate_mul(s->ack_wait_ms, 1000000), wait));
    snprintf(out->fix, sizeof(out->fix),
             "nats consumer edit AX_WORK %s --wait DURATION -f, or let workers say in-progress",
             pool);
    return true;
}
