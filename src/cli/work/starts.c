#include "cli/work/starts.h"

#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "task/backoff.h"

#define PAUSE_MS 500
#define PAUSE_MAX_MS 15000

void starts_failed(struct starts *s, int err, bool exec)
{
    int64_t now_ms = clock_now_ms();
    if (now_ms < s->not_before_ms)
        return; /* one that was begun before the pause */
    char text[128];
    s->exec = exec;
    int64_t pause_ms = backoff_ms((uint32_t)++s->failed, PAUSE_MS, PAUSE_MAX_MS,
                                  (double)(random_u64() >> 11) * 0x1p-53);
    s->not_before_ms = now_ms + pause_ms;
    if (s->failed == 1) {
        log_limited(&s->gate_failed, now_ms * 1000000, LOG_WARN,
                    "commands cannot be started: their tasks are given back, no attempt is spent",
                    "reason=%s errno=%d", log_quote(strerror(err), text, sizeof(text)), err);
    }
}

void starts_ok(struct starts *s, bool exec)
{
    if (s->exec && !exec)
        return;
    if (s->failed > 0) {
        log_limited(&s->gate_ok, clock_now_ms() * 1000000, LOG_INFO, "commands are started again",
                    "tries=%d", s->failed);
    }
    s->failed = 0;
    s->not_before_ms = 0;
}

bool starts_wait(const struct starts *s)
{
    return clock_now_ms() < s->not_before_ms;
}

int64_t starts_due_ms(const struct starts *s)
{
    return starts_wait(s) ? s->not_before_ms : INT64_MAX;
}

int starts_room(const struct starts *s, int free_slots)
{
    if (s->failed == 0)
        return free_slots;
    return free_slots > 0 && !starts_wait(s);
}
