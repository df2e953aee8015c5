#include "ingress/key_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/saturate.h"
#include "base/text/rfc3339.h"
#include "bus/reader.h"
#include "bus/stream_info.h"
#include "bus/wire.h"
#include "done/filter.h"
#include "done/idset.h"
#include "done/record_learn.h"
#include "ingress/ingress.h"
#include "ingress/schedules.h"
#include "ingress/sweep.h"
#include "task/cron.h"
#include "task/names.h"

#define CHECK_MS 3000
#define INFO_WAIT_MS 3000
#define EXPIRE_NS 60000000000LL
#define FILTER_ERROR 0.001
#define FILTER_DAYS_MAX 31
#define NS_PER_DAY (24LL * 3600 * 1000000000LL)
/* How long after its time an id may sit in AX_LATER because its queue is full. */
#define LATER_MARGIN_S 3600
#define FOREVER UINT32_MAX

/* One stream that is followed. */
struct follow {
    struct key_index *key_index;
    const char *stream;
    const char *filter; /* what reading it asks for */
    unsigned place;
    bool counts; /* every sequence of it is a publish that can be observed */
    bool whole; /* everything up to safe_seq was read or observed, and since then all is observed */
    bool asking;
    bool again; /* asked to sync while a sync is under way */
    struct reader *reader;
    uint64_t safe_seq;      /* everything up to here is in the view */
    uint64_t observed;      /* messages observed, ever */
    uint64_t observed_safe; /* at most what had been observed when safe_seq was the last sequence */
    uint64_t observed_asked;
    uint64_t target_seq; /* what the reading under way makes safe */
    uint64_t observed_target;
    /* last sequence as of the last check; what was stored by then is observed by the next one */
    uint64_t checked_seq;
    bool gap; /* it was not: read again */
    int64_t created_ns;
};

enum { DONE, LATER, DEAD, FOLLOWED };

struct key_index {
    struct ingress *ing;
    struct follow follows[FOLLOWED];
    struct filter *filter;     /* NULL until the bucket's age is known */
    struct batch_index *pages; /* with it */
    int days;
    struct idset *later, *dead;
    /* while AX_LATER is read: ids that left it meanwhile, since an answer on its way may still show
     * them there; else NULL */
    struct idset *left;
    unsigned lossy; /* places of which an id could not be kept: every id may be there */
    int64_t dead_age_s;
    struct loop_timer check, retry;
    int64_t expired_ns;
    bool connected;
    struct metric *unreadable;
};

static void sync_one(struct follow *f);

static uint32_t now_s(struct key_index *k)
{
    return (uint32_t)(clock_ax_ns(k->ing->clock) / 1000000000);
}

static uint32_t clamp_s(int64_t s)
{
    return s < 0 ? 0 : s >= FOREVER ? FOREVER : (uint32_t)s;
}

/* When an id in AX_LATER is no longer worth remembering. A schedule that cannot be read (a
 * recurring one): never. */
static uint32_t later_until(struct key_index *k, const char *stage, natsMsg *msg)
{
    const char *schedule = NULL;
    int64_t due_ns;
    if (strcmp(stage, "due") == 0)
        return clamp_s((int64_t)now_s(k) + LATER_MARGIN_S);
    if (natsMsgHeader_Get(msg, HDR_SCHEDULE, &schedule) == NATS_OK && schedule != NULL &&
        strncmp(schedule, "@at ", 4) == 0 && rfc3339_parse(schedule + 4, &due_ns))
        return clamp_s(due_ns / 1000000000 + LATER_MARGIN_S);
    return FOREVER;
}

static void lose(struct key_index *k, unsigned place)
{
    if ((k->lossy & place) == 0)
        log_error("out of memory for waiting ids; every key will be looked up", NULL);
    k->lossy |= place;
}

static ax_err goes_later(struct key_index *k, const char *id, uint32_t until_s)
{
    if (k->left != NULL)
        idset_remove(k->left, id);
    return idset_add(k->later, id, until_s);
}

static void take(struct follow *f, const char *subject, int64_t time_ns, natsMsg *msg)
{
    struct key_index *k = f->key_index;
    struct task_subject s;
    ax_err err = AX_OK;
    if (f->place == KEY_DONE) {
        if (k->filter != NULL &&
            record_learn(k->filter, k->pages, NULL, subject, msg, time_ns) == AX_E_PROTOCOL)
            key_index_unreadable(k, subject);
        return;
    }
    if (f->place == KEY_LATER)
        sweep_saw(k->ing->sweep, subject, msg);
    if (!name_parse_task_subject(subject, &s) || !name_is_keyed(s.id))
        return;
    if (f->place == KEY_LATER && strcmp(s.stage, "later") == 0 && cron_is_schedule(msg))
        schedules_saw(k->ing->schedules, s.pool, s.id);
    if (f->place == KEY_LATER)
        err = goes_later(k, s.id, later_until(k, s.stage, msg));
    else {
        err = idset_add(k->dead, s.id,
                        k->dead_age_s > 0 ? clamp_s(now_s(k) + k->dead_age_s) : FOREVER);
    }
    if (err != AX_OK)
        lose(k, f->place);
}

static void on_observed(void *arg, natsMsg *msg)
{
    struct follow *f = arg;
    struct ingress *ing = f->key_index->ing;
    f->observed++;
    take(f, natsMsg_GetSubject(msg), clock_ax_ns(ing->clock), msg);
    natsMsg_Destroy(msg);
}

static void on_read(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    struct follow *f = arg;
    (void)seq;
    struct key_index *k = f->key_index;
    struct task_subject s;
    clock_learn(k->ing->clock, time_ns);
    if (f->place == KEY_LATER && k->left != NULL && name_parse_task_subject(subject, &s) &&
        idset_has(k->left, s.id, now_s(k)))
        return;
    take(f, subject, time_ns, msg);
}

static void keep_left(struct key_index *k, bool keep)
{
    idset_free(k->left);
    k->left = NULL;
    if (keep && idset_new(&k->left) != AX_OK) {
        /* then an id too many is believed to wait, and looked for when it is asked for */
        k->left = NULL;
    }
}

static void on_read_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct follow *f = arg;
    (void)last_seq;
    f->reader = NULL;
    if (f->place == KEY_LATER)
        keep_left(f->key_index, false);
    if (err == AX_OK && !f->again) {
        f->safe_seq = f->target_seq;
        f->observed_safe = f->observed_target;
        f->checked_seq = f->safe_seq;
        f->whole = true;
        f->gap = false;
        log_debug("view is whole", "stream=%s seq=%" PRIu64, f->stream, f->safe_seq);
        return;
    }
    f->again = false;
    sync_one(f);
}

/* The Bloom filter keeps ids as long as the bucket keeps records; another age, another filter. */
static void fit_filter(struct follow *f, int64_t max_age_ns)
{
    struct key_index *k = f->key_index;
    int64_t days = max_age_ns == 0 ? FILTER_DAYS_MAX
                                   : (saturate_add(max_age_ns, NS_PER_DAY - 1)) / NS_PER_DAY;
    if (max_age_ns == 0 || days > FILTER_DAYS_MAX) {
        if (k->days != FILTER_DAYS_MAX) {
            log_warn("records are kept for longer than ingress remembers keys", "stream=%s days=%d",
                     STREAM_DONE, FILTER_DAYS_MAX);
        }
        days = FILTER_DAYS_MAX;
    }
    if (k->filter != NULL && days == k->days)
        return;
    struct filter *fresh = NULL;
    struct batch_index *pages = NULL;
    if (filter_new(&fresh, (int)days, (int)k->ing->options->filter_entries, FILTER_ERROR) !=
            AX_OK ||
        batch_index_new(&pages, (int)days) != AX_OK) {
        filter_free(fresh);
        log_error("no memory for the filter of finished tasks; every key will be looked up", NULL);
        return;
    }
    filter_free(k->filter);
    k->filter = fresh;
    batch_index_free(k->pages);
    k->pages = pages;
    k->days = (int)days;
    f->whole = false;
    f->safe_seq = 0;
}

static void start_reading(struct follow *f, const struct stream_info *info)
{
    struct key_index *k = f->key_index;
    f->target_seq = info->last_seq;
    f->observed_target = f->observed_asked;
    if (info->last_seq <= f->safe_seq) {
        on_read_end(f, AX_OK, info->last_seq);
        return;
    }
    if (f->place == KEY_LATER)
        keep_left(k, true);
    struct reader_events events = {.message = on_read, .end = on_read_end, .arg = f};
    if (reader_start(&f->reader, k->ing->pipe, k->ing->loop, f->stream, f->filter, f->safe_seq + 1,
                     &events) != AX_OK)
        f->reader = NULL; /* no memory: the next check tries again */
}

static void on_info(void *arg, ax_err err, const struct stream_info *info)
{
    struct follow *f = arg;
    struct key_index *k = f->key_index;
    f->asking = false;
    if (err != AX_OK)
        return;
    if (f->place == KEY_LATER)
        later_learn(k->ing, info);
    if (f->place == KEY_DEAD) {
        dead_room_learn(k->ing, info);
        k->dead_age_s = info->max_age_ns / 1000000000;
    }
    if (f->created_ns != info->created_ns || info->last_seq < f->safe_seq) {
        f->created_ns = info->created_ns;
        f->safe_seq = 0;
        f->whole = false;
    }
    if (f->place == KEY_DONE)
        fit_filter(f, info->max_age_ns);
    f->checked_seq = info->last_seq;
    if (!f->whole || f->gap)
        start_reading(f, info);
}

/* The stream had checked_seq at the last check. Were as many messages observed since as it had
 * grown by then? Not asked at the moment of the answer, which overtakes what is still on its way to
 * us. */
static void check_observed(struct follow *f)
{
    uint64_t grown = f->checked_seq - f->safe_seq;
    if (!f->whole || !f->counts || f->checked_seq <= f->safe_seq)
        return;
    if (grown > f->observed - f->observed_safe) {
        log_warn("records not heard, reading them again",
                 "stream=%s grown=%" PRIu64 " heard=%" PRIu64, f->stream, grown,
                 f->observed - f->observed_safe);
        metric_add(f->key_index->ing->counters.gaps, 1);
        f->gap = true;
        return;
    }
    f->safe_seq = f->checked_seq;
    f->observed_safe += grown;
}

/* Asks how far the stream is; on_info decides what has to be read. */
static void sync_one(struct follow *f)
{
    struct ingress *ing = f->key_index->ing;
    if (f->reader != NULL) {
        f->again = f->again || !f->whole;
        return;
    }
    if (f->asking || !f->key_index->connected)
        return;
    f->observed_asked = f->observed;
    f->asking = stream_info_get(ing->pipe, ing->loop, f->stream, INFO_WAIT_MS, on_info, f) == AX_OK;
}

static void report(struct key_index *k)
{
    struct counters *c = &k->ing->counters;
    struct filter_stats s;
    if (k->filter != NULL) {
        filter_stats(k->filter, &s);
        metric_set(c->filter_checks, (int64_t)s.checks);
        metric_set(c->filter_negatives, (int64_t)s.negatives);
        metric_set(c->filter_false_positives, (int64_t)s.false_positives);
        metric_set(c->filter_entries, (int64_t)s.entries);
        metric_set(c->filter_bytes, (int64_t)s.bytes);
        metric_set(c->index_entries, (int64_t)batch_index_entries(k->pages));
        metric_set(c->index_bytes, (int64_t)batch_index_bytes(k->pages));
    }
    metric_set(c->later_ids, (int64_t)idset_count(k->later));
    metric_set(c->dead_ids, (int64_t)idset_count(k->dead));
    metric_set(c->later.tasks, (int64_t)k->ing->later.messages);
    metric_set(c->later.limit, k->ing->later.max);
    metric_set(c->later.bytes, (int64_t)k->ing->later.bytes);
    metric_set(c->later.bytes_limit, k->ing->later.max_bytes);
}

static void on_check(void *arg)
{
    struct key_index *k = arg;
    int64_t now = loop_now_ns(k->ing->loop);
    for (int i = 0; i < FOLLOWED; i++) {
        if (k->follows[i].reader != NULL)
            continue;
        check_observed(&k->follows[i]);
        sync_one(&k->follows[i]);
    }
    if (now - k->expired_ns >= EXPIRE_NS && clock_is_set(k->ing->clock)) {
        k->expired_ns = now;
        if (k->filter != NULL) {
            filter_expire(k->filter, clock_ax_ns(k->ing->clock));
            batch_index_expire(k->pages, clock_ax_ns(k->ing->clock));
        }
        idset_expire(k->later, now_s(k));
        idset_expire(k->dead, now_s(k));
    }
    report(k);
    loop_timer_start(k->ing->loop, &k->check, key_index_is_whole(k) ? CHECK_MS : CHECK_MS / 10,
                     on_check, k);
}

unsigned key_index_maybe(struct key_index *k, const char *id)
{
    unsigned places = 0;
    if (!k->follows[DONE].whole || k->filter == NULL || filter_check(k->filter, id, TASK_ID_CHARS))
        places |= KEY_DONE;
    if (!k->follows[LATER].whole ||
        (idset_count(k->later) > 0 && idset_has(k->later, id, now_s(k))))
        places |= KEY_LATER;
    if (!k->follows[DEAD].whole || (idset_count(k->dead) > 0 && idset_has(k->dead, id, now_s(k))))
        places |= KEY_DEAD;
    return places | k->lossy;
}

bool key_index_done_is_whole(const struct key_index *k)
{
    return k->follows[DONE].whole && k->pages != NULL;
}

ax_err key_index_find_record(struct key_index *k, const char *id, int64_t timeout_ms,
                             record_find_cb cb, void *arg)
{
    return record_find(k->ing->pipe, k->pages, id, timeout_ms, cb, arg);
}

void key_index_unreadable(struct key_index *k, const char *where)
{
    static struct log_gate gate;
    char buf[160];
    metric_add(k->unreadable, 1);
    log_limited(&gate, loop_now_ns(k->ing->loop), LOG_WARN,
                "record that cannot be read, counts as none", "at=%s",
                log_quote(where, buf, sizeof(buf)));
}

int64_t key_index_unreadable_count(const struct key_index *k)
{
    return metric_value(k->unreadable);
}

void key_index_is_not(struct key_index *k, unsigned place, const char *id)
{
    if (place == KEY_DONE && k->follows[DONE].whole && k->filter != NULL)
        filter_was_false(k->filter);
    else if (place == KEY_LATER)
        idset_remove(k->later, id);
    else if (place == KEY_DEAD)
        idset_remove(k->dead, id);
}

void key_index_goes_later(struct key_index *k, const char *id, int64_t due_ns)
{
    if (name_is_keyed(id) &&
        goes_later(k, id, clamp_s(due_ns / 1000000000 + LATER_MARGIN_S)) != AX_OK)
        lose(k, KEY_LATER);
}

void key_index_left_later(struct key_index *k, const char *id)
{
    if (!name_is_keyed(id))
        return;
    idset_remove(k->later, id);
    if (k->left != NULL)
        idset_add(k->left, id, FOREVER);
}

void key_index_still_later(struct key_index *k, const char *id)
{
    if (name_is_keyed(id) &&
        goes_later(k, id, clamp_s((int64_t)now_s(k) + LATER_MARGIN_S)) != AX_OK)
        lose(k, KEY_LATER);
}

void key_index_refresh(struct key_index *k)
{
    for (int i = 0; i < FOLLOWED; i++)
        sync_one(&k->follows[i]);
}

void key_index_disconnected(struct key_index *k)
{
    k->connected = false;
    for (int i = 0; i < FOLLOWED; i++)
        k->follows[i].whole = false;
}

void key_index_reconnected(struct key_index *k)
{
    k->connected = true;
    key_index_refresh(k);
}

bool key_index_is_whole(const struct key_index *k)
{
    return k->follows[DONE].whole && k->follows[LATER].whole && k->follows[DEAD].whole;
}

ax_err key_index_start(struct key_index **out, struct ingress *ing)
{
    static const struct {
        const char *stream, *observed, *read;
        unsigned place;
        bool counts;
    } table[FOLLOWED] = {
        [DONE] = {STREAM_DONE, DONE_PREFIX ">", ">", KEY_DONE, true},
        /* what falls due is written by the server itself and not observed */
        [LATER] = {STREAM_LATER, "ax.later.>", ">", KEY_LATER, false},
        [DEAD] = {STREAM_DEAD, "ax.dead.>", ">", KEY_DEAD, true},
    };
    struct key_index *k = calloc(1, sizeof(*k));
    if (k == NULL || idset_new(&k->later) != AX_OK || idset_new(&k->dead) != AX_OK)
        return AX_E_NOMEM;
    k->ing = ing;
    k->connected = true;
    k->unreadable = metrics_get(METRIC_COUNTER, "ax_ingress_records_unreadable_total",
                                "Messages of AX_DONE that hold no record AX can read", "");
    for (int i = 0; i < FOLLOWED; i++) {
        struct follow *f = &k->follows[i];
        f->key_index = k;
        f->stream = table[i].stream;
        f->filter = table[i].read;
        f->place = table[i].place;
        f->counts = table[i].counts;
        struct wire_sub *sub = NULL;
        ax_err err = wire_subscribe(ing->wire, &sub, table[i].observed, NULL, on_observed, f);
        if (err != AX_OK)
            return err;
        /* What ended before a submission was stored is known when its PubAck is handled. */
        wire_serve_first(ing->wire, sub);
    }
    *out = k;
    on_check(k);
    return AX_OK;
}
