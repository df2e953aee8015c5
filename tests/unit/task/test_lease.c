#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dispatch/lead/assignment.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"
#include "task/peer/presence.h"

static void lease_comes_back_as_packed(void **state)
{
    (void)state;
    struct lease l = {.epoch = UINT64_MAX, .renewed_ns = 1896080400000000001, .ttl_ms = 5000}, back;
    memset(l.holder, 'h', INSTANCE_MAX_CHARS);
    memset(l.pool, 'p', NAME_MAX_CHARS);
    uint8_t buf[LEASE_MAX_BYTES];
    size_t bytes = lease_pack(&l, buf);
    assert_true(bytes > 0 && bytes <= sizeof(buf));
    assert_int_equal(lease_unpack(&back, buf, bytes), AX_OK);
    assert_string_equal(back.holder, l.holder);
    assert_string_equal(back.pool, l.pool);
    assert_true(back.epoch == l.epoch);
    assert_int_equal(back.renewed_ns, l.renewed_ns);
    assert_int_equal(back.ttl_ms, 5000);
}

static void given_up_lease_has_no_holder(void **state)
{
    (void)state;
    struct lease l = {.pool = "email", .ttl_ms = 1000}, back;
    uint8_t buf[LEASE_MAX_BYTES];
    size_t bytes = lease_pack(&l, buf);
    assert_int_equal(lease_unpack(&back, buf, bytes), AX_OK);
    assert_string_equal(back.holder, "");
}

static void what_is_no_lease_is_refused(void **state)
{
    (void)state;
    struct lease back;
    uint8_t buf[LEASE_MAX_BYTES];
    const struct lease bad[] = {
        {.holder = "a.b", .pool = "email", .ttl_ms = 5000},
        {.holder = "a", .pool = "", .ttl_ms = 5000},
        {.holder = "a", .pool = "e mail", .ttl_ms = 5000},
        {.holder = "a", .pool = "email", .ttl_ms = LEASE_TTL_MIN_MS - 1},
        {.holder = "a", .pool = "email", .ttl_ms = LEASE_TTL_MAX_MS + 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(lease_unpack(&back, buf, lease_pack(&bad[i], buf)), AX_E_PROTOCOL);
    assert_int_equal(lease_unpack(&back, "\xff\xff", 2), AX_E_PROTOCOL);
    assert_int_equal(lease_unpack(&back, "", 0), AX_E_NOT_FOUND); /* removed with nats kv del */
}

static void presence_comes_back_as_packed(void **state)
{
    (void)state;
    struct presence p = {.name = "host-1-abc", .leads = 7, .ttl_ms = 5000, .leaving = true}, back;
    uint8_t buf[LEASE_MAX_BYTES];
    size_t bytes = presence_pack(&p, buf);
    assert_int_equal(presence_unpack(&back, buf, bytes), AX_OK);
    assert_string_equal(back.name, "host-1-abc");
    assert_int_equal(back.leads, 7);
    assert_true(back.leaving);
    strcpy(p.name, "");
    assert_int_equal(presence_unpack(&back, buf, presence_pack(&p, buf)), AX_E_PROTOCOL);
    strcpy(p.name, "x");
    p.ttl_ms = 0;
    assert_int_equal(presence_unpack(&back, buf, presence_pack(&p, buf)), AX_E_PROTOCOL);
    assert_int_equal(presence_unpack(&back, "", 0), AX_E_NOT_FOUND);
}

static void names_of_processes_differ(void **state)
{
    (void)state;
    char a[INSTANCE_MAX_CHARS + 1], b[INSTANCE_MAX_CHARS + 1];
    instance_new(a);
    instance_new(b);
    assert_true(instance_is_valid(a));
    assert_true(instance_is_valid(b));
    assert_string_not_equal(a, b);
    assert_false(instance_is_valid(""));
    assert_false(instance_is_valid("a.b"));
}

static void shares_are_even(void **state)
{
    (void)state;
    assert_int_equal(assignment_cap(0, 3), 0);
    assert_int_equal(assignment_cap(1, 3), 1);
    assert_int_equal(assignment_cap(6, 3), 2);
    assert_int_equal(assignment_cap(7, 3), 3);
    assert_int_equal(assignment_floor(7, 3), 2);
    assert_int_equal(assignment_floor(2, 3), 0);
    /* All pools find a place: cap for each member is enough for all, floor for each never too
     * many. */
    for (int pools = 0; pools < 40; pools++) {
        for (int members = 1; members < 12; members++) {
            assert_true(assignment_cap(pools, members) * members >= pools);
            assert_true(assignment_floor(pools, members) * members <= pools);
            assert_true(assignment_cap(pools, members) - assignment_floor(pools, members) <= 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_comes_back_as_packed),
        cmocka_unit_test(given_up_lease_has_no_holder),
        cmocka_unit_test(what_is_no_lease_is_refused),
        cmocka_unit_test(presence_comes_back_as_packed),
        cmocka_unit_test(names_of_processes_differ),
        cmocka_unit_test(shares_are_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
