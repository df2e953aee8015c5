/* Pool settings are JSON that anyone with access to the bucket may write. What is accepted must lie
 * within the ranges and come back the same from its own text; what is refused must leave the old
 * settings and say why in one line. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "task/settings.h"

static int same(const struct settings *a, const struct settings *b)
{
    return a->rate == b->rate && a->burst == b->burst && a->batch == b->batch &&
           a->share == b->share && a->max_retry == b->max_retry && a->backoff_ms == b->backoff_ms &&
           a->backoff_cap_ms == b->backoff_cap_ms && a->max_timeouts == b->max_timeouts &&
           a->window_ms == b->window_ms && a->paused == b->paused && a->adaptive == b->adaptive &&
           a->rate_floor == b->rate_floor && a->tolerance == b->tolerance &&
           a->fail_ratio == b->fail_ratio && a->group_rate == b->group_rate &&
           a->group_burst == b->group_burst && a->group_concurrency == b->group_concurrency &&
           a->group_weight == b->group_weight &&
           memcmp(&a->group_weights, &b->group_weights, sizeof(a->group_weights)) == 0;
}

static void check_ranges(const struct settings *s)
{
    CHECK(s->rate >= 0 && s->rate <= 1e6);
    CHECK(s->burst >= 1 && s->burst <= 1e6);
    CHECK(s->batch >= 1 && s->batch <= 1000);
    CHECK(s->share >= 0 && s->share <= 0.5);
    CHECK(s->max_retry >= 0 && s->max_retry <= 1000);
    CHECK(s->backoff_ms >= 1 && s->backoff_ms <= 3600000);
    CHECK(s->backoff_cap_ms >= 1 && s->backoff_cap_ms <= 86400000);
    CHECK(s->max_timeouts >= 0 && s->max_timeouts <= 1000);
    CHECK(s->group_rate >= 0 && s->group_rate <= 1e6);
    CHECK(s->group_burst >= 1 && s->group_burst <= 1e6);
    CHECK(s->group_concurrency >= 0 && s->group_concurrency <= 1000000);
    CHECK(s->group_weight >= 1 && s->group_weight <= 100);
    CHECK(s->group_weights.count >= 0 && s->group_weights.count <= SETTINGS_WEIGHTS_MAX);
    for (int i = 0; i < s->group_weights.count; i++)
        CHECK(s->group_weights.list[i].weight >= 1 && s->group_weights.list[i].weight <= 100);
    CHECK(s->rate_floor >= 0 && s->rate_floor <= 1e6);
    CHECK(s->tolerance >= 1.02 && s->tolerance <= 10);
    CHECK(s->fail_ratio >= 0.01 && s->fail_ratio <= 1);
    CHECK(s->window_ms >= 60000 && s->window_ms <= 604800000);
}

static void check_round_trip(const struct settings *s)
{
    char *text = settings_format(s);
    CHECK(text != NULL);
    struct settings back;
    CHECK(settings_parse(&back, text, strlen(text), NULL) == AX_OK && same(&back, s));
    free(text);
}

/* Accepted: in range, and the same once written and read. Refused: a reason, and nothing changed.
 */
static void check_outcome(ax_err err, const struct settings *s, const struct settings *before,
                          const struct problem *p)
{
    if (err == AX_OK) {
        check_ranges(s);
        check_round_trip(s);
        return;
    }
    CHECK(err == AX_E_INVALID && p->err == err && p->text[0] != '\0' &&
          strchr(p->text, '\n') == NULL);
    CHECK(same(s, before));
}

/* "field\0value": as `ax pool set` gets it. */
static void set_one(const char *text, const char *end)
{
    struct settings s, before;
    struct problem p = {0};
    const char *value = text + strlen(text) + 1;
    settings_default(&s);
    before = s;
    ax_err err = settings_set(&s, text, value <= end ? value : "", &p);
    check_outcome(err, &s, &before, &p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings s, before;
    struct problem p = {0};
    settings_default(&s);
    before = s;
    ax_err err = settings_parse(&s, (const char *)data, size, &p);
    check_outcome(err, &s, &before, &p);
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    set_one(text, text + size);
    free(text);
    return 0;
}
