#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "task/inbox.h"

static void who_is_answered(void **state)
{
    (void)state;
    static const char *const good[] = {
        "_INBOX.a",
        "_INBOX.a.b",
        "_R_.abc.def",
        "_R_.abc.def.T",
        "_INBOX_a.x.1",
        "team.b.x",
        "_GR_.123456.abcdef._INBOX.x",
        "_GR_.123456.abcdef._R_.x.y",
        "_GR_.123456.abcdef.team.b.x",
    };
    static const char *const bad[] = {
        "",
        "x",
        "$KV.AX_DONE.0123",
        "$JS.API.STREAM.DELETE.AX_NORMAL",
        "$JS.ACK.AX_HIGH.email.1.2.3.4.5",
        "$SYS.REQ.SERVER.PING",
        "$GR.abcd._INBOX.x",
        "ax.queue.high.sms.x",
        "ax.submit.high.sms",
        "orders.new",
        "_INBOX",
        "_INBOX.",
        "_INBOXES.a",
        "_INBOX..a",
        "_INBOX.*",
        "_INBOX.>",
        "_INBOX.a.*.b",
        "_INBOX.a b",
        "_INBOX.a\tb",
        "_INBOX.a\r\nPUB",
        "_inbox.a",
        "x_INBOX.a",
        "_INBOX_a",
        "_INBOX_ab.x",
        "team.bc",
        "team.x",
        "_R_",
        "_R.x",
        "_GR_.123456.abcdef.$KV.AX_DONE.x",
        "_GR_.123456.abcdef.ax.queue.high.sms.x",
        "_GR_.123456.abcdef.",
        "_GR_.123456",
        "_GR_._INBOX.x",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        if (!inbox_is_answerable(good[i], "_INBOX_a,team.b"))
            fail_msg("%s is an inbox", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (inbox_is_answerable(bad[i], "_INBOX_a,team.b"))
            fail_msg("%s is no inbox", bad[i]);
    }
    assert_true(inbox_is_answerable("_INBOX.a", NULL));
    assert_false(inbox_is_answerable("_INBOX_a.x", NULL));
    assert_false(inbox_is_answerable(".x", ""));
}

static void long_ones_are_not(void **state)
{
    (void)state;
    char reply[INBOX_REPLY_MAX_CHARS + 2] = "_INBOX.";
    memset(reply + 7, 'x', sizeof(reply) - 7);
    reply[INBOX_REPLY_MAX_CHARS + 1] = '\0';
    assert_false(inbox_is_answerable(reply, NULL));
    reply[INBOX_REPLY_MAX_CHARS] = '\0';
    assert_true(inbox_is_answerable(reply, NULL));
}

static void own_inboxes(void **state)
{
    (void)state;
    char a[INBOX_MAX], b[INBOX_MAX];
    assert_ptr_equal(inbox_new(a), a);
    inbox_new(b);
    assert_int_equal(strncmp(a, "_INBOX.", 7), 0);
    assert_int_equal(strlen(a), 7 + INBOX_UNIQUE_CHARS);
    assert_string_not_equal(a, b);
    assert_true(inbox_is_answerable(a, NULL));
    char prefix[SUBJECT_INBOX_PREFIX_MAX + 1] = "team.";
    memset(prefix + 5, 'x', sizeof(prefix) - 6);
    inbox_use_prefix(prefix);
    inbox_new(a);
    assert_int_equal(strlen(a), INBOX_MAX - 1);
    assert_true(inbox_is_answerable(a, prefix));
    assert_false(inbox_is_answerable(a, NULL));
    inbox_use_prefix(NULL);
    assert_int_equal(strncmp(inbox_new(a), "_INBOX.", 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_answered),
        cmocka_unit_test(long_ones_are_not),
        cmocka_unit_test(own_inboxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
