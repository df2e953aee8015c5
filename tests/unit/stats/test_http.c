#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "stats/http.h"
#include "stats/metrics.h"

static atomic_bool is_ready;

static bool ready(void *arg, char *why, unsigned long cap)
{
    if (!atomic_load((atomic_bool *)arg)) {
        snprintf(why, cap, "no connection");
        return false;
    }
    return true;
}

static int dial(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    struct timeval deadline = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

/* The whole answer to one request on a connection of its own. */
static const char *ask(int port, const char *method, const char *path)
{
    static char answer[65536];
    char request[256];
    const char *length = strcmp(method, "POST") == 0 ? "Content-Length: 0\r\n" : "";
    int n = snprintf(request, sizeof(request),
                     "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", method, path,
                     length);
    int fd = dial(port);
    assert_int_equal(write(fd, request, (size_t)n), n);
    size_t used = 0;
    ssize_t got;
    while ((got = read(fd, answer + used, sizeof(answer) - 1 - used)) > 0) {
        used += (size_t)got;
    }
    answer[used] = '\0';
    close(fd);
    return answer;
}

static void check(const char *answer, const char *status, const char *word)
{
    if (strncmp(answer, status, strlen(status)) != 0 || strstr(answer, word) == NULL) {
        fail_msg("expected %s and \"%s\", got: %s", status, word, answer);
    }
}

static int start(void **state)
{
    struct problem p = {0};
    struct http *h = NULL;
    atomic_store(&is_ready, false);
    if (http_start(&h, "127.0.0.1", -1, ready, &is_ready, &p) != AX_OK) {
        print_error("%s\n", p.text);
        return -1;
    }
    *state = h;
    return 0;
}

static int stop(void **state)
{
    http_stop(*state);
    http_stop(NULL);
    return 0;
}

static void health_and_readiness(void **state)
{
    int port = http_port(*state);
    assert_in_range(port, 1, 65535);
    check(ask(port, "GET", "/healthz"), "HTTP/1.1 200", "\r\n\r\nok\n");
    check(ask(port, "GET", "/readyz"), "HTTP/1.1 503", "not ready: no connection\n");
    atomic_store(&is_ready, true);
    check(ask(port, "GET", "/readyz"), "HTTP/1.1 200", "\r\n\r\nok\n");
    check(ask(port, "GET", "/readyz?verbose=1"), "HTTP/1.1 200", "ok");
}

static void metrics_as_prometheus_asks(void **state)
{
    metric_set(metrics_get(METRIC_GAUGE, "ax_http_test", "Of this test.", "pool=\"a\""), 42);
    const char *answer = ask(http_port(*state), "GET", "/metrics");
    check(answer, "HTTP/1.1 200", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    check(answer, "HTTP/1.1 200", "\nax_http_test{pool=\"a\"} 42\n");
    const char *head = ask(http_port(*state), "HEAD", "/metrics");
    check(head, "HTTP/1.1 200", "\r\n\r\n");
    assert_null(strstr(head, "ax_http_test"));
}

static void other_paths_and_methods_are_refused(void **state)
{
    int port = http_port(*state);
    check(ask(port, "GET", "/"), "HTTP/1.1 404", "/metrics");
    check(ask(port, "GET", "/healthz/"), "HTTP/1.1 404", "");
    check(ask(port, "GET", "/../etc/passwd"), "HTTP/1.1 404", "");
    check(ask(port, "POST", "/healthz"), "HTTP/1.1 405", "Allow: GET, HEAD\r\n");
    check(ask(port, "DELETE", "/metrics"), "HTTP/1.1 405", "Allow: GET, HEAD\r\n");
}

static void a_port_that_is_taken_is_named(void **state)
{
    struct http *h = NULL;
    struct problem p = {0};
    char port[16];
    snprintf(port, sizeof(port), "%d", http_port(*state));
    assert_int_equal(http_start(&h, "127.0.0.1", http_port(*state), NULL, NULL, &p), AX_E_IO);
    assert_non_null(strstr(p.text, port));
    assert_non_null(strstr(p.text, "in use"));
    assert_int_equal(http_start(&h, "no.address", -1, NULL, NULL, &p), AX_E_IO);
    assert_non_null(strstr(p.text, "no.address"));
    assert_null(h);
}

static void a_silent_client_does_not_hold_up_the_end(void **state)
{
    int fd = dial(http_port(*state));
    assert_int_equal(write(fd, "GET /hea", 8), 8);
    check(ask(http_port(*state), "GET", "/healthz"), "HTTP/1.1 200", "ok");
    http_stop(*state);
    *state = NULL;
    char c;
    assert_true(read(fd, &c, 1) <= 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(health_and_readiness, start, stop),
        cmocka_unit_test_setup_teardown(metrics_as_prometheus_asks, start, stop),
        cmocka_unit_test_setup_teardown(other_paths_and_methods_are_refused, start, stop),
        cmocka_unit_test_setup_teardown(a_port_that_is_taken_is_named, start, stop),
        cmocka_unit_test_setup_teardown(a_silent_client_does_not_hold_up_the_end, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
