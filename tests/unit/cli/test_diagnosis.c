/* What `ax doctor` finds in made-up views: each pattern by itself, thresholds, and what must not be
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/doctor/diagnosis.h"

static struct view_pool pools[2];
static struct view_stream streams[2];
static struct view_daemon daemons[2];
static struct view_peer peers[2];
static struct view view;

/* Everything as it should be. */
static int setup(void **state)
{
    (void)state;
    pools[0] = (struct view_pool){.name = "email", .is_counted = true};
    pools[0].counts = (struct pool_counts){.queued = {100},
                                           .waiting = {100},
                                           .running = 10,
                                           .pulls = 2,
                                           .ack_wait_ms = 30000,
                                           .max_ack_pending = 1000,
                                           .leader = "d-1"};
    pools[0].stats = (struct stats_pool){
        .answered = true,
        .ready = true,
        .pending = 100,
        .busy = 0.5,
        .demand = 10,
        .pulls = 2,
        .inflight = 10,
        .max_ack_pending = 1000,
        .ack_wait_ms = 30000,
        .run = {.count = 1000, .p50_ms = 100, .p99_ms = 900},
        .silence = {.count = 1000, .p99_ms = 900},
        .minute = {.seconds = 60, .waited_s = 60, .handed_off = 600, .ended = 600},
        .five_minutes = {.seconds = 300, .handed_off = 3000, .ended = 3000}};
    streams[0] = (struct view_stream){.name = "AX_HIGH",
                                      .there = true,
                                      .has_leader = true,
                                      .messages = 110,
                                      .max_msgs = 1000,
                                      .max_bytes = -1,
                                      .replicas = 1,
                                      .max_later = -1,
                                      .priority = 0};
    streams[1] = (struct view_stream){.name = "AX_LATER",
                                      .there = true,
                                      .has_leader = true,
                                      .messages = 10,
                                      .max_msgs = -1,
                                      .max_bytes = -1,
                                      .replicas = 1,
                                      .max_later = 1000,
                                      .priority = -1};
    daemons[0] = (struct view_daemon){
        .program = "ax-ingress", .name = "i-1", .answered = true, .ready = true};
    daemons[1] = (struct view_daemon){
        .program = "ax-dispatch", .name = "d-1", .answered = true, .ready = true};
    peers[0] = (struct view_peer){.name = "n1"};
    peers[1] = (struct view_peer){.name = "n2"};
    view = (struct view){
        .priorities = {.count = 1,
                       .list = {{.name = "high", .stream = "AX_HIGH", .max_msgs = 1000}}},
        .pool_count = 1,
        .stream_count = 2,
        .daemon_count = 2,
        .pools = pools,
        .streams = streams,
        .daemons = daemons,
        .peers = peers,
        .peer_count = 2,
        .memory_max = -1,
        .storage_max = -1};
    return 0;
}

/* The one finding of this code, copied; count of all in *n. */
static struct finding only(const char *code)
{
    struct findings f;
    struct finding found = {0};
    int n = 0;
    diagnosis_make(&view, &f);
    for (int i = 0; i < f.count; i++) {
        assert_true(f.list[i].text[0] != '\0' && f.list[i].fix[0] != '\0' &&
                    f.list[i].about[0] != '\0');
        if (strcmp(f.list[i].code, code) == 0) {
            found = f.list[i];
            n++;
        } else {
            print_message("also: %s %s: %s\n", f.list[i].code, f.list[i].about, f.list[i].text);
        }
    }
    assert_int_equal(n, 1);
    assert_int_equal(f.count, 1);
    findings_free(&f);
    return found;
}

static void nothing(void)
{
    struct findings f;
    diagnosis_make(&view, &f);
    for (int i = 0; i < f.count; i++) {
        print_message("found: %s %s: %s\n", f.list[i].code, f.list[i].about, f.list[i].text);
    }
    assert_int_equal(f.count, 0);
    findings_free(&f);
}

static void all_is_well(void **state)
{
    (void)state;
    nothing();
    pools[0].stats.busy = 1; /* busy, and nothing grows */
    nothing();
    pools[0].stats.minute.pending_rise = 4; /* hardly */
    nothing();
    pools[0].stats.minute.pending_rise = -80;
    nothing();
}

static void growth_is_told_apart_by_how_busy_workers_are(void **state)
{
    (void)state;
    struct stats_pool *t = &pools[0].stats;
    t->minute.pending_rise = 60;
    t->busy = 0.97;
    struct finding f = only("workers_busy");
    assert_int_equal(f.severity, SEVERITY_WARNING);
    assert_string_equal(f.about, "pool email");
    assert_string_equal(
        f.text,
        "its workers are the bottleneck: they are 97% busy, and 100 tasks wait, +60 in 60s");
    t->busy = 0.05;
    assert_non_null(strstr(only("held_back").text, "ax-dispatch or the server is slow"));
    t->minute.limited_s = 5;
    assert_non_null(strstr(only("held_back").text, "ax-dispatch or the server is slow"));
    t->minute.limited_s = 50;
    t->rate_now = 5;
    f = only("held_back");
    assert_non_null(strstr(f.text, "its rate (5 starts/s) is used up"));
    assert_non_null(strstr(f.fix, "ax pool set email rate=10"));
    t->inflight_limit = 20;
    f = only("held_back");
    assert_non_null(strstr(f.text, "its rate has adapted"));
    assert_non_null(strstr(f.text, "20 tasks at a time"));
    t->inflight_limit = -1;
    t->minute.limited_s = 0;
    t->minute.capped_s = 50;
    f = only("held_back");
    assert_non_null(strstr(f.text, "max_ack_pending (1000) is used up"));
    assert_non_null(strstr(f.fix, "nats consumer edit AX_WORK email --max-pending 2000 -f"));
    t->minute.capped_s = 0;
    t->minute.grouped_s = 50;
    assert_non_null(strstr(only("held_back").text, "groups that have reached their limits"));
    t->busy = 0.5;
    only("pending_grows");
    t->minute.seconds = 3; /* too short to tell */
    nothing();
}

static void a_full_queue_does_not_grow(void **state)
{
    (void)state;
    struct stats_pool *t = &pools[0].stats;
    streams[0].messages = 1000;
    pools[0].counts.queued[0] = 980;
    t->pending = 970;
    t->busy = 0.99;
    daemons[0].busy_answers[0] = 12;
    struct findings f;
    diagnosis_make(&view, &f);
    assert_int_equal(f.count, 2);
    assert_string_equal(f.list[0].code, "queue_full");
    assert_non_null(strstr(f.list[0].text, "980 of pool email"));
    assert_non_null(strstr(f.list[0].text, "12 busy answers"));
    assert_string_equal(f.list[1].code, "workers_busy");
    findings_free(&f);
}

static void timeouts(void **state)
{
    (void)state;
    struct stats_pool *t = &pools[0].stats;
    t->five_minutes.timeouts = 30; /* one in a hundred */
    nothing();
    t->minute.timeouts = t->five_minutes.timeouts = 120; /* none before, one in five now */
    struct finding f = only("timeouts_rising");
    assert_non_null(strstr(
        f.text, "20% of the attempts that ended in the last 60s ended in silence, 0% before"));
    assert_non_null(strstr(f.fix, "workers die"));
    t->five_minutes.late_acks = 100;
    f = only("timeouts_rising");
    assert_non_null(strstr(f.fix, "--wait"));
    t->minute.timeouts = 120;
    t->five_minutes.timeouts = 600; /* all the time */
    t->five_minutes.late_acks = 0;
    only("timeouts");
    t->minute.timeouts = 2;
    t->five_minutes.timeouts = 2; /* few, but acked after all */
    t->five_minutes.late_acks = 2;
    f = only("declared_dead");
    assert_non_null(strstr(f.text, "living workers are declared dead"));
}

static void ack_wait(void **state)
{
    (void)state;
    struct stats_pool *t = &pools[0].stats;
    t->silence.p99_ms = 15000;
    nothing();
    t->silence.p99_ms = 15100;
    struct finding f = only("ack_wait_short");
    assert_non_null(strstr(f.text, "ack_wait 30s is under twice the 15s"));
    assert_non_null(strstr(f.fix, "nats consumer edit AX_WORK email --wait 35s -f"));
    t->silence.count = 10; /* too few to tell */
    nothing();
    t->silence.count = 1000; /* long runs of workers that say in-progress are none of that */
    t->silence.p99_ms = 900;
    t->run.p99_ms = 600000;
    nothing();
}

static void who_is_not_there(void **state)
{
    (void)state;
    daemons[0].answered = false;
    daemons[1].answered = false;
    pools[0].stats = (struct stats_pool){.busy = -1};
    struct findings f;
    diagnosis_make(&view, &f);
    assert_int_equal(f.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f.list[i].severity, SEVERITY_ERROR);
    }
    assert_string_equal(f.list[0].code, "no_ingress");
    assert_string_equal(f.list[1].code, "no_dispatch");
    findings_free(&f);
    setup(NULL);
    pools[0].stats = (struct stats_pool){.busy = -1};
    assert_non_null(strstr(only("no_leader").text, "its leader (d-1) does not answer"));
    pools[0].counts.leader[0] = '\0';
    assert_non_null(strstr(only("no_leader").text,
                           "no dispatcher leads it: nothing of it starts; 90 tasks wait"));
    setup(NULL);
    daemons[0].ready = false;
    only("daemon_not_ready");
    setup(NULL);
    pools[0].counts.pulls = pools[0].counts.running = 0;
    pools[0].stats.busy = -1;
    only("no_workers");
    pools[0].paused = true;
    assert_int_equal(only("paused").severity, SEVERITY_NOTE);
    pools[0].paused = false;
    strcpy(pools[0].stats.paused, "consumer");
    assert_non_null(strstr(only("paused").fix, "nats consumer resume AX_WORK email -f"));
}

static void pools_that_cannot_be_made_or_read(void **state)
{
    (void)state;
    strcpy(pools[0].stats.unprovisioned, "maximum consumers limit reached");
    pools[0].counts.queued[0] = -1;
    struct finding found = only("unprovisioned");
    assert_non_null(strstr(found.text, "maximum consumers limit reached"));
    assert_non_null(strstr(found.fix, "ax pool rm"));
    pools[0].counts.queued[0] = 100;
    pools[0].stats.unprovisioned[0] = '\0';
    pools[0].is_unread = advice_settings("email", "{\"rat\":1}", &pools[0].unread);
    strcpy(pools[0].stats.paused, "unreadable");
    found = only("settings_unreadable");
    assert_non_null(strstr(found.text, "rat"));
    assert_non_null(strstr(found.fix, "nats kv put AX_POOLS email"));
    assert_false(advice_settings("email", "{\"rate\":1}", &pools[0].unread));
    assert_false(advice_settings("email", "", &pools[0].unread));
    pools[0].is_unread = false;
    pools[0].stats.paused[0] = '\0';
}

static void streams_and_storage(void **state)
{
    (void)state;
    streams[1].messages = 900;
    only("later_nearly_full");
    streams[1].messages = 899;
    nothing();
    streams[1].drops = true;
    assert_int_equal(only("stream_drops").severity, SEVERITY_ERROR);
    setup(NULL);
    peers[1].behind = 11;
    struct finding f = only("replicas_behind");
    assert_string_equal(f.about, "server n2");
    assert_non_null(strstr(f.text, "its replicas of 11 streams are not up to date"));
    peers[1].behind = 0;
    streams[0].replicas = 3;
    streams[0].has_leader = false;
    only("stream_no_leader");
    streams[0].there = false;
    only("stream_missing");
    setup(NULL);
    view.storage = 80;
    view.storage_max = 100;
    nothing();
    view.storage = 86;
    assert_int_equal(only("storage_nearly_full").severity, SEVERITY_WARNING);
    view.storage = 98;
    assert_int_equal(only("storage_nearly_full").severity, SEVERITY_ERROR);
    setup(NULL);
    view.memory = 90;
    view.memory_max = 100;
    only("memory_nearly_full");
}

static void clocks_dead_letters_and_order(void **state)
{
    (void)state;
    daemons[1].host_ahead_ms = -900;
    nothing();
    daemons[1].host_ahead_ms = -90000;
    struct finding f = only("host_clock");
    assert_int_equal(f.severity, SEVERITY_NOTE);
    assert_non_null(strstr(f.text, "90s behind"));
    daemons[1].host_ahead_ms = INT64_MIN; /* not known */
    daemons[0].clock_behind_ms = 400;
    nothing();
    daemons[0].clock_behind_ms = 5000;
    only("server_clock_set_back");
    setup(NULL);
    pools[0].stats.five_minutes.leases_lost = 2;
    only("leases_lost");
    setup(NULL);
    pools[0].stats.five_minutes.dead = 3;
    pools[0].stats.five_minutes.leases_lapsed = 1;
    view.storage = 99;
    view.storage_max = 100;
    struct findings all;
    diagnosis_make(&view, &all);
    assert_int_equal(all.count, 3);
    assert_string_equal(all.list[0].code, "storage_nearly_full");
    assert_string_equal(all.list[1].code, "dead_letters");
    assert_string_equal(all.list[2].code, "leases_lapsed");
    findings_free(&all);
    findings_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_is_well, setup),
        cmocka_unit_test_setup(growth_is_told_apart_by_how_busy_workers_are, setup),
        cmocka_unit_test_setup(a_full_queue_does_not_grow, setup),
        cmocka_unit_test_setup(timeouts, setup),
        cmocka_unit_test_setup(ack_wait, setup),
        cmocka_unit_test_setup(who_is_not_there, setup),
        cmocka_unit_test_setup(pools_that_cannot_be_made_or_read, setup),
        cmocka_unit_test_setup(streams_and_storage, setup),
        cmocka_unit_test_setup(clocks_dead_letters_and_order, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
