#include "ingress/queue/drain.h"

#define SAMPLE_MIN_NS 200000000LL
#define STALL_NS 2000000000LL

void drain_init(struct drain *d)
{
    *d = (struct drain){.per_s = -1};
}

void drain_sample(struct drain *d, uint64_t removed, int64_t now_ns)
{
    if (d->sample_ns == 0 || removed < d->removed) {
        *d = (struct drain){
            .removed = removed, .sample_ns = now_ns, .moved_ns = now_ns, .per_s = -1};
        return;
    }
    int64_t passed_ns = now_ns - d->sample_ns;
    if (passed_ns < SAMPLE_MIN_NS)
        return;
    double rate = (double)(removed - d->removed) * 1e9 / (double)passed_ns;
    d->per_s = d->per_s < 0 ? rate : (d->per_s + rate) / 2;
    if (removed > d->removed)
        d->moved_ns = now_ns;
    d->removed = removed;
    d->sample_ns = now_ns;
    d->refused /= 2;
}

bool drain_stands(const struct drain *d, int64_t now_ns)
{
    return d->sample_ns != 0 && now_ns - d->moved_ns > STALL_NS;
}

int64_t drain_hint_ms(struct drain *d, int64_t now_ns)
{
    double hint_ms = DRAIN_HINT_FIRST_MS;
    if (d->refused < UINT32_MAX)
        d->refused++;
    if (drain_stands(d, now_ns)) {
        /* nothing leaves: ask as much more rarely as it has lasted longer */
        hint_ms = (double)(now_ns - d->moved_ns) / 1e6;
    } else if (d->per_s > 0)
        hint_ms = 1000.0 * d->refused / d->per_s; /* room for all who were sent away */
    if (hint_ms < DRAIN_HINT_MIN_MS)
        return DRAIN_HINT_MIN_MS;
    return hint_ms > DRAIN_HINT_MAX_MS ? DRAIN_HINT_MAX_MS : (int64_t)hint_ms;
}
