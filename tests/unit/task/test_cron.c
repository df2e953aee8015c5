#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "task/cron.h"
#include "task/task_rule.h"

static void allowed(const char *cron, const char *schedule)
{
    struct task t = {.cron = cron};
    struct problem p = {0};
    char out[CRON_SCHEDULE_MAX];
    if (cron_check(&t, &p) != AX_OK) {
        fail_msg("%s refused: %s", cron, p.text);
    }
    assert_string_equal(cron_schedule(cron, out), schedule);
}

static void refused(const char *cron, const char *zone, const char *says)
{
    struct task t = {.cron = cron, .time_zone = zone};
    struct problem p = {0};
    if (cron_check(&t, &p) != AX_E_INVALID || !strstr(p.text, says)) {
        fail_msg("\"%s\": \"%s\" does not say \"%s\"", cron, p.text, says);
    }
}

static void expressions_as_the_server_takes_them(void **state)
{
    (void)state;
    allowed("0 30 9 * * 1-5", "0 30 9 * * 1-5");
    allowed("*/5 * * * jan SUN", "*/5 * * * jan SUN");
    allowed("0  0 0  1 1 *", "0  0 0  1 1 *");
    allowed("30 9 * * 1-5", "0 30 9 * * 1-5");
    allowed("* * * * *", "0 * * * * *");
    allowed("@hourly", "@hourly");
    allowed("@annually", "@annually");
    allowed("@every 1s", "@every 1s");
    allowed("@every 1h30m", "@every 5400s");
    allowed("@every 2d", "@every 172800s");
    allowed("@every 60000ms", "@every 60s");
}

static void wrong_ones_are_named(void **state)
{
    (void)state;
    refused("9 * * 1-5", NULL,
            "it has 4 fields and must have six fields: second minute hour day month weekday, or "
            "the last five");
    refused("9 * * 1-5", NULL, "Ax-Cron: \"9 * * 1-5\"");
    refused("0 30 9 * * 1-5 2030", NULL, "it has 7 fields");
    refused("hourly", NULL, "it has 1 field and");
    refused("@fortnightly", NULL, "@weekly");
    refused("@at 2030-01-31T09:00:00Z", NULL, "six fields");
    static const char *const every[] = {
        "@every 0s", "@every 999ms", "@every 1500ms", "@every 1.5s", "@every -1s",
        "@every ",   "@every soon",  "@every 366d",   "@every 1us",  "@every  1s"};
    for (size_t i = 0; i < sizeof(every) / sizeof(*every); i++) {
        refused(every[i], NULL, every[i]);
        refused(every[i], NULL, "whole seconds from 1s to 365d");
    }
    refused("@every 10m", "UTC", "Ax-Time-Zone is given with Ax-Cron \"@every 10m\"");
}

static void servers_refusals_say_what_is_allowed(void **state)
{
    (void)state;
    struct task t = {.cron = "0 0 0 30 2 *", .time_zone = "Mars/Olympus"};
    struct problem p;
    assert_int_equal(cron_refused(&t, false, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "Ax-Cron: \"0 0 0 30 2 *\""));
    assert_non_null(strstr(p.text, "six fields: second minute hour day month weekday"));
    assert_int_equal(cron_refused(&t, true, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "Ax-Time-Zone: \"Mars/Olympus\""));
}

static const char *header_of(natsMsg *msg, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, name, &value) == NATS_OK ? value : NULL;
}

static void schedule_headers(void **state)
{
    (void)state;
    struct task t = {.id = "abc",
                     .priority = "high",
                     .pool = "email",
                     .cron = "@daily",
                     .time_zone = "Europe/Zurich"};
    natsMsg *msg = NULL;
    assert_int_equal(natsMsg_Create(&msg, "ax.later.high.email.abc", NULL, "", 0), NATS_OK);
    assert_int_equal(cron_set_schedule(msg, &t, false), AX_OK);
    assert_string_equal(header_of(msg, "Nats-Schedule"), "@daily");
    assert_string_equal(header_of(msg, "Nats-Schedule-Time-Zone"), "Europe/Zurich");
    assert_string_equal(header_of(msg, "Nats-Schedule-Target"), "ax.due.high.email.abc");
    assert_false(cron_is_paused(msg));
    natsMsg_Destroy(msg);

    assert_int_equal(natsMsg_Create(&msg, "ax.later.high.email.abc", NULL, "", 0), NATS_OK);
    assert_int_equal(cron_set_schedule(msg, &t, true), AX_OK);
    assert_int_equal(strncmp(header_of(msg, "Nats-Schedule"), "@at 2200-", 9), 0);
    /* the server refuses one beside @at */
    assert_null(header_of(msg, "Nats-Schedule-Time-Zone"));
    assert_true(cron_is_paused(msg));
    natsMsg_Destroy(msg);
}

static natsMsg *due(const char *name, const char *value)
{
    natsMsg *msg = NULL;
    assert_int_equal(natsMsg_Create(&msg, "ax.due.high.email.abc", NULL, "", 0), NATS_OK);
    if (name) {
        assert_int_equal(natsMsgHeader_Set(msg, name, value), NATS_OK);
    }
    return msg;
}

static void firing_id_is_that_of_the_firing_not_of_its_message(void **state)
{
    (void)state;
    char a[TASK_ID_CHARS + 1], b[TASK_ID_CHARS + 1];
    natsMsg *first = due("Nats-Schedule-Next", "2030-01-31T10:00:00Z");
    natsMsg *second = due("Nats-Schedule-Next", "2030-01-31T11:00:00Z");
    cron_firing_id("abc", 7, first, 1, 100, a);
    cron_firing_id("abc", 7, first, 2, 200, b); /* fired again by a server that forgot */
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), TASK_ID_CHARS);
    cron_firing_id("abc", 7, second, 1, 100, b);
    assert_string_not_equal(a, b);
    cron_firing_id("abc", 8, first, 1, 100, b); /* another version of the schedule */
    assert_string_not_equal(a, b);
    cron_firing_id("abd", 7, first, 1, 100, b);
    assert_string_not_equal(a, b);
    natsMsg_Destroy(first);
    natsMsg_Destroy(second);

    natsMsg *by_hand = due("Nats-Msg-Id", "nuid");
    cron_firing_id("abc", 7, by_hand, 1, 100, a);
    cron_firing_id_of("abc", 7, "nuid", b);
    assert_string_equal(a, b);
    natsMsg_Destroy(by_hand);

    natsMsg *bare = due(NULL, NULL);
    cron_firing_id("abc", 7, bare, 1, 100, a);
    cron_firing_id("abc", 7, bare, 2, 100, b);
    assert_string_not_equal(a, b);
    natsMsg_Destroy(bare);
}

static void firing_key_names_the_second(void **state)
{
    (void)state;
    char out[CRON_KEY_MAX];
    assert_string_equal(cron_firing_key("report", 1896080400123456789, out),
                        "report@2030-01-31T09:00:00Z");
    char key[TASK_CRON_KEY_MAX_BYTES + 1];
    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = '\0';
    assert_true(strlen(cron_firing_key(key, 1896080400123456789, out)) <= KEY_MAX_BYTES);
    assert_string_equal(out + strlen(key), "@2030-01-31T09:00:00Z");
}

/* nats.c cannot destroy a message before it is opened. */
static int open_nats(void **state)
{
    (void)state;
    return nats_Open(-1) == NATS_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_as_the_server_takes_them),
        cmocka_unit_test(wrong_ones_are_named),
        cmocka_unit_test(servers_refusals_say_what_is_allowed),
        cmocka_unit_test(schedule_headers),
        cmocka_unit_test(firing_id_is_that_of_the_firing_not_of_its_message),
        cmocka_unit_test(firing_key_names_the_second),
    };
    return cmocka_run_group_tests(tests, open_nats, NULL);
}
