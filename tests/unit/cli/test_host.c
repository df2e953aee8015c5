/* The address of `ax up`: what only this machine reaches, and how it stands in a URL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/up/host.h"

static void check(const char *given, const char *address, const char *in_url, bool is_loopback)
{
    struct host h;
    struct problem p = {0};
    assert_int_equal(host_resolve(given, &h, &p), AX_OK);
    assert_string_equal(h.address, address);
    assert_string_equal(h.in_url, in_url);
    assert_int_equal(h.is_loopback, is_loopback);
}

static void addresses_of_this_machine_only(void **state)
{
    (void)state;
    check("127.0.0.1", "127.0.0.1", "127.0.0.1", true);
    check("127.9.8.7", "127.9.8.7", "127.9.8.7", true);
    check("::1", "::1", "[::1]", true);
    check("[::1]", "::1", "[::1]", true);
    check("::ffff:127.0.0.1", "::ffff:127.0.0.1", "[::ffff:127.0.0.1]", true);
}

static void addresses_that_others_reach(void **state)
{
    (void)state;
    check("0.0.0.0", "0.0.0.0", "127.0.0.1", false);
    check("0", "0.0.0.0", "127.0.0.1", false);
    check("::", "::", "127.0.0.1", false);
    check("[::]", "::", "127.0.0.1", false);
    check("128.0.0.1", "128.0.0.1", "128.0.0.1", false);
    check("192.0.2.1", "192.0.2.1", "192.0.2.1", false);
    check("::ffff:192.0.2.1", "::ffff:192.0.2.1", "[::ffff:192.0.2.1]", false);
    check("2001:db8::1", "2001:db8::1", "[2001:db8::1]", false);
}

static void what_is_no_address(void **state)
{
    (void)state;
    char longer[300];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const char *wrong[] = {"", "[", "[]", "[::1", "no.such.name.invalid", "1.2.3.4:5", longer};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct host h;
        struct problem p = {0};
        assert_int_equal(host_resolve(wrong[i], &h, &p), AX_E_INVALID);
        assert_non_null(strstr(p.text, "--host"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_this_machine_only),
        cmocka_unit_test(addresses_that_others_reach),
        cmocka_unit_test(what_is_no_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
