#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/url.h"

static void secrets_of_urls_become_stars(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        /* text, redacted, blanked */
        {"", "", ""},
        {"nats://h:4222", "nats://h:4222", "nats://h:4222"},
        {"h1:4222,h2", "h1:4222,h2", "h1:4222,h2"},
        {"nats://[::1]:4222", "nats://[::1]:4222", "nats://[::1]:4222"},
        {"nats://joe:pw@h:4222", "nats://***@h:4222", "nats://xxxxxx@h:4222"},
        {"nats://t0ken@h", "nats://***@h", "nats://xxxxx@h"},
        {"nats://joe:pw@[::1]:4222", "nats://***@[::1]:4222", "nats://xxxxxx@[::1]:4222"},
        {"joe:pw@h:4222", "***@h:4222", "xxxxxx@h:4222"},
        {"nats://a:1@h1,tls://b:2@h2", "nats://***@h1,tls://***@h2", "nats://xxx@h1,tls://xxx@h2"},
        {"nats://h1, nats://b:2@h2", "nats://h1, nats://***@h2", "nats://h1, nats://xxx@h2"},
        {"nats://h1,b:2@h2", "nats://***@h2", "nats://xxxxxx@h2"},
        /* a password may hold anything */
        {"nats://a:p@s/w,d@h", "nats://***@h", "nats://xxxxxxxxx@h"},
        {"nats://a:p w@h", "nats://***@h", "nats://xxxxx@h"},
        {"nats://a:p://w@h", "nats://***@h", "nats://xxxxxxx@h"},
        {"nats://a:@h", "nats://***@h", "nats://xx@h"},
        {"cannot connect to nats://a:b@h: no", "cannot connect to nats://***@h: no",
         "cannot connect to nats://xxx@h: no"},
        {"url=\"nats://a:b@h\"", "url=\"nats://***@h\"", "url=\"nats://xxx@h\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char buf[128];
        assert_string_equal(url_redact(cases[i][0], buf, sizeof(buf)), cases[i][1]);
        strcpy(buf, cases[i][0]);
        url_blank(buf);
        assert_string_equal(buf, cases[i][2]);
    }
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    char buf[64];
    for (size_t cap = 0; cap < sizeof(buf); cap++) {
        memset(buf, '#', sizeof(buf));
        url_redact("nats://joe:s3cret@host,nats://joe:s3cret@host", buf, cap);
        for (size_t i = cap; i < sizeof(buf); i++)
            assert_int_equal(buf[i], '#');
        if (cap > 0) {
            assert_true(strlen(buf) < cap);
            assert_null(strstr(buf, "s3"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_of_urls_become_stars),
        cmocka_unit_test(what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
