#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "done/idset.h"

static struct idset *make(void)
{
    struct idset *s = NULL;
    assert_int_equal(idset_new(&s), AX_OK);
    assert_non_null(s);
    return s;
}

static const char *name(char *buf, int i)
{
    snprintf(buf, 40, "%08x%024x", (unsigned)i * 2654435761u, (unsigned)i);
    return buf;
}

static void adds_removes_and_forgets(void **state)
{
    (void)state;
    struct idset *s = make();
    assert_false(idset_has(s, "a", 0));
    assert_int_equal(idset_add(s, "a", 100), AX_OK);
    assert_true(idset_has(s, "a", 99));
    assert_false(idset_has(s, "a", 100));
    assert_false(idset_has(s, "b", 99));
    assert_int_equal(idset_add(s, "a", 50), AX_OK); /* an expiry only moves later */
    assert_true(idset_has(s, "a", 99));
    assert_int_equal(idset_add(s, "a", 200), AX_OK);
    assert_true(idset_has(s, "a", 199));
    assert_int_equal(idset_count(s), 1);
    idset_remove(s, "b");
    assert_int_equal(idset_count(s), 1);
    idset_remove(s, "a");
    idset_remove(s, "a");
    assert_int_equal(idset_count(s), 0);
    assert_false(idset_has(s, "a", 0));
    assert_int_equal(idset_add(s, "over", 0), AX_OK);
    assert_false(idset_has(s, "over", 0));
    assert_int_equal(idset_add(s, "for ever", UINT32_MAX), AX_OK);
    assert_true(idset_has(s, "for ever", UINT32_MAX - 1));
    idset_free(s);
    idset_free(NULL);
}

static void ids_of_any_length_differ(void **state)
{
    (void)state;
    struct idset *s = make();
    char id[41] = "";
    for (int length = 0; length <= 40; length++) {
        memset(id, '0', (size_t)length);
        id[length] = '\0';
        assert_false(idset_has(s, id, 0));
        assert_int_equal(idset_add(s, id, 1), AX_OK);
        assert_true(idset_has(s, id, 0));
    }
    assert_int_equal(idset_count(s), 41);
    idset_free(s);
}

/* Against the plainest model there is: an array with an expiry for each id. */
static void behaves_like_a_plain_array(void **state)
{
    (void)state;
    enum { IDS = 3000, STEPS = 300000 };
    static uint32_t model[IDS];
    struct idset *s = make();
    char id[40];
    uint32_t now = 1;
    srand48(99);
    memset(model, 0, sizeof(model));
    for (int step = 0; step < STEPS; step++) {
        /* crowded times and sparse ones: it grows and shrinks */
        int range = step / 50000 % 2 ? 100 : IDS;
        int i = (int)(lrand48() % range);
        switch (lrand48() % 8) {
        case 0:
        case 1:
        case 2: {
            uint32_t expires = now + (uint32_t)(lrand48() % 500);
            assert_int_equal(idset_add(s, name(id, i), expires), AX_OK);
            model[i] = expires > model[i] ? expires : model[i];
            break;
        }
        case 3:
        case 4:
            idset_remove(s, name(id, i));
            model[i] = 0;
            break;
        case 5:
            now += lrand48() % 50 == 0;
            break;
        default:
            break;
        }
        assert_int_equal(idset_has(s, name(id, i), now), model[i] > now);
        if (step % 5000 == 0) {
            idset_expire(s, now);
            size_t alive = 0;
            for (int k = 0; k < IDS; k++) {
                alive += model[k] > now;
                model[k] = model[k] > now ? model[k] : 0;
                assert_int_equal(idset_has(s, name(id, k), now), model[k] > now);
            }
            assert_int_equal(idset_count(s), alive);
        }
    }
    idset_free(s);
}

static void a_million_ids_in_32_mib(void **state)
{
    (void)state;
    enum { N = 1000000 };
    struct idset *s = make();
    size_t empty_bytes = idset_bytes(s);
    char id[40];
    assert_true(empty_bytes < 4096);
    for (int i = 0; i < N; i++) {
        assert_int_equal(idset_add(s, name(id, i), 1000 + (uint32_t)(i % 2)), AX_OK);
    }
    assert_int_equal(idset_count(s), N);
    assert_true(idset_bytes(s) <= 32 * 1024 * 1024 + 4096);
    for (int i = 0; i < N; i++) {
        assert_true(idset_has(s, name(id, i), 999));
    }
    for (int i = N; i < 2 * N; i++) {
        assert_false(idset_has(s, name(id, i), 999));
    }
    idset_expire(s, 1000);
    assert_int_equal(idset_count(s), N / 2);
    for (int i = 0; i < N; i++) {
        assert_int_equal(idset_has(s, name(id, i), 999), i % 2);
    }
    for (int i = 1; i < N; i += 2) {
        idset_remove(s, name(id, i));
    }
    assert_int_equal(idset_count(s), 0);
    assert_int_equal(idset_bytes(s), empty_bytes);
    idset_free(s);
}

static void expiring_all_shrinks(void **state)
{
    (void)state;
    struct idset *s = make();
    size_t empty_bytes = idset_bytes(s);
    char id[40];
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(idset_add(s, name(id, i), 10), AX_OK);
    }
    assert_true(idset_bytes(s) > 100000 * 16);
    idset_expire(s, 10);
    assert_int_equal(idset_count(s), 0);
    assert_int_equal(idset_bytes(s), empty_bytes);
    idset_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_removes_and_forgets),   cmocka_unit_test(ids_of_any_length_differ),
        cmocka_unit_test(behaves_like_a_plain_array), cmocka_unit_test(a_million_ids_in_32_mib),
        cmocka_unit_test(expiring_all_shrinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
