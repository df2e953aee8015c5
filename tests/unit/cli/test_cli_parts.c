/* Parts of the command line that need no server: times as printed, ingress's answers, acks,
 * jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <errno.h>
#include <nats/nats.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/submit/submit.h"
#include "cli/work/job.h"
#include "cli/work/pulls.h"

static void durations_read_well(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(output_seconds(-5, buf), "0s");
    assert_string_equal(output_seconds(350000000, buf), "350ms");
    assert_string_equal(output_seconds(12000000000, buf), "12s");
    assert_string_equal(output_seconds(187000000000, buf), "3m07s");
    assert_string_equal(output_seconds(5LL * 3600000000000 + 120000000000, buf), "5h02m");
    assert_string_equal(output_seconds(76LL * 3600000000000, buf), "3d04h");
}

static void json_text_takes_any_bytes(void **state)
{
    (void)state;
    json_t *good = output_text("größe"), *bad = output_text("a\xff"
                                                            "b");
    assert_string_equal(json_string_value(good), "größe");
    assert_string_equal(json_string_value(bad), "a?b");
    json_decref(good);
    json_decref(bad);
}

static struct submit_answer answer(const char *text, const char *retry_after)
{
    natsMsg *msg = NULL;
    struct submit_answer a;
    assert_int_equal(natsMsg_Create(&msg, "reply", NULL, text, (int)strlen(text)), NATS_OK);
    if (retry_after)
        assert_int_equal(natsMsgHeader_Set(msg, "Ax-Retry-After", retry_after), NATS_OK);
    submit_parse(&a, msg);
    natsMsg_Destroy(msg);
    return a;
}

static void answers_are_told_apart(void **state)
{
    (void)state;
    struct submit_answer a = answer("{\"stream\":\"AX_HIGH\",\"seq\":42,\"duplicate\":false,"
                                    "\"task\":\"abc\",\"state\":\"queued\"}",
                                    NULL);
    assert_int_equal(a.outcome, SUBMIT_ACCEPTED);
    assert_string_equal(a.id, "abc");
    assert_string_equal(a.stream, "AX_HIGH");
    assert_int_equal(a.seq, 42);
    a = answer(
        "{\"stream\":\"X\",\"seq\":1,\"duplicate\":true,\"task\":\"abc\",\"state\":\"done\"}",
        NULL);
    assert_int_equal(a.outcome, SUBMIT_DUPLICATE);
    assert_string_equal(a.state, "done");

    a = answer(
        "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"queue high is full\"}}",
        "1s500ms");
    assert_int_equal(a.outcome, SUBMIT_BUSY);
    assert_int_equal(a.retry_after_ms, 1500);
    assert_string_equal(a.description, "queue high is full");
    a = answer("{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"\"}}", "soon");
    assert_int_equal(a.outcome, SUBMIT_BUSY);
    assert_int_equal(a.retry_after_ms, 250);

    a = answer("{\"error\":{\"code\":400,\"err_code\":10003,\"description\":\"Ax-Delay: no\"}}",
               NULL);
    assert_int_equal(a.outcome, SUBMIT_REFUSED);
    assert_string_equal(a.description, "--delay: no");
    a = answer(
        "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"full, retry in 60000ms\"}}",
        "60000ms");
    assert_string_equal(a.description, "full, retry in 60s");
    a = answer("{\"error\":{\"code\":503,\"err_code\":10008,\"description\":\"no word\"}}",
               "250ms");
    assert_int_equal(a.outcome, SUBMIT_UNANSWERED);
    assert_false(a.nobody);
    assert_int_equal(answer("what?", NULL).outcome, SUBMIT_REFUSED);
    assert_int_equal(answer("", NULL).outcome, SUBMIT_REFUSED);
}

static void submissions_carry_their_headers(void **state)
{
    (void)state;
    struct submit_flags f = {.priority = "high", .pool = "email", .max_retry = "2", .delay = "5s"};
    f.headers = (struct flag_list){2, {"traceparent: 00-1", "X:y"}};
    natsMsg *msg = submit_message(&f, "the key", "body", 4, "back");
    const char *value = NULL;
    assert_non_null(msg);
    assert_string_equal(natsMsg_GetSubject(msg), "ax.submit.high.email");
    assert_string_equal(natsMsg_GetReply(msg), "back");
    assert_int_equal(natsMsgHeader_Get(msg, "Nats-Msg-Id", &value), NATS_OK);
    assert_string_equal(value, "the key");
    assert_int_equal(natsMsgHeader_Get(msg, "Ax-Max-Retry", &value), NATS_OK);
    assert_string_equal(value, "2");
    assert_int_equal(natsMsgHeader_Get(msg, "traceparent", &value), NATS_OK);
    assert_string_equal(value, "00-1");
    assert_int_equal(natsMsgHeader_Get(msg, "X", &value), NATS_OK);
    assert_string_equal(value, "y");
    assert_int_not_equal(natsMsgHeader_Get(msg, "Ax-At", &value), NATS_OK);
    natsMsg_Destroy(msg);

    f.headers = (struct flag_list){1, {"no colon"}};
    assert_null(submit_message(&f, NULL, "", 0, NULL));
}

/* ---- jobs: real commands, no server */

static struct guard guard;

static enum job_start try_start(struct job **j, natsMsg *msg, const char *command)
{
    struct job_setup setup = {.command = command, .guard = &guard};
    if (guard.slots == NULL)
        assert_true(guard_init(&guard, 2));
    return job_start(j, msg, &setup);
}

static struct job *start(const char *body, size_t bytes, const char *command)
{
    natsMsg *msg = NULL;
    assert_int_equal(natsMsg_Create(&msg, "ax.work.email.abc123",
                                    "$JS.ACK.AX_WORK.email.1.77.1.1700000000000000000.0", body,
                                    (int)bytes),
                     NATS_OK);
    natsMsgHeader_Set(msg, "Ax-Key", "a key");
    natsMsgHeader_Set(msg, "Ax-Attempt", "2");
    natsMsgHeader_Set(msg, "Ax-Priority", "high");
    struct job *j = NULL;
    assert_int_equal(try_start(&j, msg, command), JOB_STARTED);
    return j;
}

/* Runs to the end, as the loop of `ax work` does; the ack in buf. */
static const char *run(struct job *j, char buf[300])
{
    while (!job_is_over(j)) {
        int status = 0;
        if (waitpid(j->pid, &status, WNOHANG) == j->pid)
            job_on_exit(j, status);
        struct pollfd fds[] = {{.fd = j->in_fd, .events = POLLOUT},
                               {.fd = j->err.fd, .events = POLLIN}};
        poll(fds, 2, 10);
        job_write(j);
        job_read(j);
    }
    job_ack(j, job_verdict(j->status), buf, 300);
    job_free(j);
    return buf;
}

static void exit_codes_become_acks(void **state)
{
    (void)state;
    char buf[300];
    assert_string_equal(run(start("", 0, "exit 0"), buf), "+ACK");
    assert_string_equal(run(start("", 0, "exit 75"), buf), "-NAK");
    assert_string_equal(run(start("", 0, "exit 1"), buf), "-NAK");
    assert_string_equal(run(start("", 0, "kill -9 $$"), buf), "-NAK");
    assert_string_equal(run(start("", 0, "/no/such/program"), buf), "-NAK");
    assert_string_equal(run(start("", 0, "exit 65"), buf), "+TERM exit 65");
    assert_string_equal(run(start("", 0, "printf 'first\\nlast\\tone\\n\\n' >&2; exit 65"), buf),
                        "+TERM exit 65: last one");
    assert_string_equal(run(start("", 0, "printf unended >&2; exit 65"), buf),
                        "+TERM exit 65: unended");
}

static void the_environment_names_the_task(void **state)
{
    (void)state;
    char buf[300];
    setenv("AX_KEY", "of somebody else", 1);
    setenv("KEPT", "kept", 1);
    const char *check =
        "[ \"$AX_TASK,$AX_KEY,$AX_ATTEMPT,$AX_FENCE,$AX_PRIORITY,$AX_POOL,$KEPT\" = "
        "'abc123,a key,2,77,high,email,kept' ]";
    assert_string_equal(run(start("", 0, check), buf), "+ACK");
}

static void the_body_reaches_stdin_whole(void **state)
{
    (void)state;
    char buf[300];
    size_t bytes = 1 << 20; /* far more than a pipe holds */
    char *body = malloc(bytes);
    assert_non_null(body);
    memset(body, 'x', bytes);
    body[17] = '\0';
    assert_string_equal(run(start(body, bytes, "[ $(wc -c) = 1048576 ]"), buf), "+ACK");
    /* A command that does not want it. */
    assert_string_equal(run(start(body, bytes, "exec 0<&-; exit 0"), buf), "+ACK");
    free(body);
}

static void a_stopped_command_ends_with_its_children(void **state)
{
    (void)state;
    char buf[300];
    struct job *j = start("", 0, "trap '' TERM; while :; do sleep 1; done");
    pid_t group = j->pid;
    job_stop(j);
    assert_true(j->kill_ms > 0);
    job_kill(j);
    assert_string_equal(run(j, buf), "-NAK");
    assert_int_equal(kill(-group, 0), -1);
}

static void what_is_no_task_is_not_started(void **state)
{
    (void)state;
    natsMsg *msg = NULL;
    struct job *j = NULL;
    natsMsg_Create(&msg, "ax.work.email.abc", "not.an.ack.subject", "", 0);
    assert_int_equal(try_start(&j, msg, "exit 0"), JOB_NO_TASK);
    natsMsg_Destroy(msg);
    natsMsg_Create(&msg, "some.subject", "$JS.ACK.AX_WORK.email.1.77.1.1700000000000000000.0", "",
                   0);
    assert_int_equal(try_start(&j, msg, "exit 0"), JOB_NO_TASK);
    natsMsg_Destroy(msg);
}

/* ---- pulls: accounting */

static void add_pull(struct pulls *p, uint64_t number, int left)
{
    p->open[p->open_count].number = number;
    p->open[p->open_count].left = left;
    p->open[p->open_count].due_ms = clock_now_ms() + 60000;
    p->open_count++;
    p->asked += left;
}

static natsMsg *status_message(const char *code, const char *pending, const char *text)
{
    natsMsg *msg = NULL;
    natsMsg_Create(&msg, "inbox", NULL, "", 0);
    natsMsgHeader_Set(msg, "Status", code);
    natsMsgHeader_Set(msg, "Description", text);
    if (pending)
        natsMsgHeader_Set(msg, "Nats-Pending-Messages", pending);
    return msg;
}

static void pulls_are_counted_off(void **state)
{
    (void)state;
    struct pulls p = {0};
    add_pull(&p, 1, 3);
    add_pull(&p, 2, 2);
    pulls_got(&p);
    pulls_got(&p);
    assert_int_equal(p.asked, 3);
    /* The server says what is left of a request, whatever we believed. */
    natsMsg *msg = status_message("408", "2", "Request Timeout");
    assert_false(pulls_status(&p, 1, msg));
    natsMsg_Destroy(msg);
    assert_int_equal(p.asked, 1);
    assert_int_equal(p.open_count, 1);
    assert_false(p.suspended);
    pulls_got(&p);
    pulls_got(&p);
    assert_int_equal(p.open_count, 0);
    assert_int_equal(p.asked, 0);
    pulls_got(&p);
    assert_int_equal(p.asked, 0);
}

static void a_deleted_consumer_stops_the_pulls(void **state)
{
    (void)state;
    struct pulls p = {0};
    add_pull(&p, 1, 3);
    natsMsg *msg = status_message("409", NULL, "Consumer Deleted");
    assert_true(pulls_status(&p, 1, msg));
    natsMsg_Destroy(msg);
    assert_true(p.suspended);
    assert_int_equal(p.asked, 0);
    assert_true(p.not_before_ms > 0);
}

static void lapsed_pulls_are_forgotten(void **state)
{
    (void)state;
    struct pulls p = {0};
    add_pull(&p, 1, 3);
    add_pull(&p, 2, 1);
    assert_false(pulls_expire(&p));
    p.open[0].due_ms = clock_now_ms() - 1;
    assert_true(pulls_expire(&p));
    assert_int_equal(p.asked, 1);
    assert_int_equal(p.open[0].number, 2);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (nats_Open(-1) != NATS_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_read_well),
        cmocka_unit_test(json_text_takes_any_bytes),
        cmocka_unit_test(answers_are_told_apart),
        cmocka_unit_test(submissions_carry_their_headers),
        cmocka_unit_test(exit_codes_become_acks),
        cmocka_unit_test(the_environment_names_the_task),
        cmocka_unit_test(the_body_reaches_stdin_whole),
        cmocka_unit_test(a_stopped_command_ends_with_its_children),
        cmocka_unit_test(what_is_no_task_is_not_started),
        cmocka_unit_test(pulls_are_counted_off),
        cmocka_unit_test(a_deleted_consumer_stops_the_pulls),
        cmocka_unit_test(lapsed_pulls_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
