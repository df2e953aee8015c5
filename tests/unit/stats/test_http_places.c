/* The places of HTTP: the oldest connection makes room, each has its deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "stats/http_places.h"

#define MANY (HTTP_PLACES_MAX + 3)

static struct http_places places;
static struct http_place *taken[MANY];
static int sockets[MANY][2];

static int setup(void **state)
{
    (void)state;
    places = (struct http_places){0};
    for (int i = 0; i < MANY; i++) {
        taken[i] = NULL;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets[i]) != 0)
            return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) {
        http_places_free(&places, taken[i]);
        close(sockets[i][0]);
        close(sockets[i][1]);
    }
    return places.count;
}

static void take(int i, int64_t now_ns)
{
    taken[i] = http_places_take(&places, sockets[i][0], now_ns);
    assert_non_null(taken[i]);
}

/* Its socket is shut down: the other end is at its end. */
static bool is_dropped(int i)
{
    char byte;
    return read(sockets[i][1], &byte, 1) == 0;
}

static void the_oldest_makes_room(void **state)
{
    (void)state;
    for (int i = 0; i < HTTP_PLACES_MAX; i++)
        take(i, i);
    assert_false(is_dropped(0));
    take(HTTP_PLACES_MAX, HTTP_PLACES_MAX);
    assert_true(is_dropped(0));
    assert_false(is_dropped(1));
    assert_int_equal(places.count, HTTP_PLACES_MAX);

    /* One that ends by itself makes room as well, and nobody is dropped for it. */
    http_places_free(&places, taken[2]);
    taken[2] = NULL;
    take(HTTP_PLACES_MAX + 1, HTTP_PLACES_MAX + 1);
    assert_false(is_dropped(1));
    take(HTTP_PLACES_MAX + 2, HTTP_PLACES_MAX + 2);
    assert_true(is_dropped(1));
    assert_int_equal(places.dropped[HTTP_PLACES_CROWDED], 2);
    assert_int_equal(places.dropped[HTTP_PLACES_LATE], 0);
}

static void each_has_its_deadline(void **state)
{
    (void)state;
    const int64_t second_ns = 1000000000LL;
    assert_int_equal(http_places_sweep(&places, 5), -1);
    take(0, 0);
    take(1, second_ns);
    assert_in_range(http_places_sweep(&places, second_ns), 9000, 9001);
    assert_in_range(http_places_sweep(&places, HTTP_PLACES_DEADLINE_NS - 1), 1, 2);
    assert_false(is_dropped(0));
    assert_in_range(http_places_sweep(&places, HTTP_PLACES_DEADLINE_NS), 1000, 1001);
    assert_true(is_dropped(0));
    assert_false(is_dropped(1));
    assert_int_equal(http_places_sweep(&places, 60 * second_ns), -1);
    assert_true(is_dropped(1));
    assert_int_equal(places.dropped[HTTP_PLACES_LATE], 2);
    assert_int_equal(places.count, 0);
}

static void large_answers_have_places_of_their_own(void **state)
{
    (void)state;
    for (int i = 0; i <= HTTP_PLACES_LARGE_MAX + 1; i++)
        take(i, i);
    /* The first one asks for something small, and stays. */
    for (int i = 1; i <= HTTP_PLACES_LARGE_MAX; i++) {
        http_places_set_large(&places, taken[i]);
        http_places_set_large(&places, taken[i]);
    }
    assert_int_equal(places.dropped[HTTP_PLACES_CROWDED], 0);
    http_places_set_large(&places, taken[HTTP_PLACES_LARGE_MAX + 1]);
    assert_false(is_dropped(0));
    assert_true(is_dropped(1));
    assert_false(is_dropped(2));
    assert_int_equal(places.large_count, HTTP_PLACES_LARGE_MAX);
    /* One that was dropped already counts no more. */
    http_places_set_large(&places, taken[1]);
    assert_int_equal(places.dropped[HTTP_PLACES_CROWDED], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_oldest_makes_room, setup, teardown),
        cmocka_unit_test_setup_teardown(each_has_its_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(large_answers_have_places_of_their_own, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
