#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/secret.h"

static char path[] = "/tmp/ax-secret-XXXXXX";

static void put(const char *content, size_t bytes, mode_t mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void reads(const char *content, size_t bytes, const char *secret)
{
    char buf[SECRET_MAX_BYTES + 1];
    struct problem p = {0};
    put(content, bytes, 0600);
    if (secret_read(path, buf, &p) != AX_OK)
        fail_msg("%s", p.text);
    assert_string_equal(buf, secret);
}

static void refuses(const char *content, size_t bytes, const char *why)
{
    char buf[SECRET_MAX_BYTES + 1];
    struct problem p = {0};
    put(content, bytes, 0600);
    assert_int_equal(secret_read(path, buf, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, path));
    assert_non_null(strstr(p.text, why));
}

static void one_line_break_is_cut_off(void **state)
{
    (void)state;
    reads("s3cret", 6, "s3cret");
    reads("s3cret\n", 7, "s3cret");
    reads("s3cret\r\n", 8, "s3cret");
    reads(" s p ", 5, " s p ");
    refuses("", 0, "is empty");
    refuses("\n", 1, "is empty");
    refuses("a\n\n", 3, "one line");
    refuses("a\nb\n", 4, "one line");
    refuses("a\0b", 3, "one line");
}

static void the_longest(void **state)
{
    (void)state;
    static char text[SECRET_MAX_BYTES + 2];
    memset(text, 'x', SECRET_MAX_BYTES);
    reads(text, SECRET_MAX_BYTES, text);
    text[SECRET_MAX_BYTES] = 'x';
    refuses(text, SECRET_MAX_BYTES + 1, "more than a secret");
}

static void files_that_are_not_to_be_trusted(void **state)
{
    (void)state;
    char buf[SECRET_MAX_BYTES + 1];
    struct problem p = {0};
    put("s3cret", 6, 0602);
    assert_int_equal(secret_read(path, buf, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "everybody can write"));
    put("s3cret", 6, 0444);
    assert_int_equal(secret_read(path, buf, &p), AX_OK); /* with a warning */
    assert_int_equal(secret_read("/", buf, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "directory"));
    assert_int_equal(secret_read("/nowhere/at/all", buf, &p), AX_E_IO);
    assert_non_null(strstr(p.text, "/nowhere/at/all: No such file"));
}

static void taking_overwrites(void **state)
{
    (void)state;
    char secret[] = "s3cret", url[] = "nats://a:b@h";
    assert_string_equal(secret_take(secret), "s3cret");
    assert_string_equal(secret, "xxxxxx");
    assert_string_equal(secret_take_urls(url), "nats://a:b@h");
    assert_string_equal(url, "nats://xxx@h");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_break_is_cut_off),
        cmocka_unit_test(the_longest),
        cmocka_unit_test(files_that_are_not_to_be_trusted),
        cmocka_unit_test(taking_overwrites),
    };
    close(mkstemp(path));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
