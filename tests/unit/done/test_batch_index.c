#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "done/batch_index.h"

#define DAY_NS (86400LL * 1000000000LL)

static struct batch_index *make(int days)
{
    struct batch_index *ix;
    assert_int_equal(batch_index_new(&ix, days), AX_OK);
    return ix;
}

static const char *id_of(char *out, int i)
{
    snprintf(out, TASK_ID_CHARS + 1, "%08x%024x", i * 2654435761u, i);
    return out;
}

/* Batch number `number` with the ids from first on. */
static void add(struct batch_index *ix, uint32_t number, int first, int count, int64_t ns)
{
    struct record_batch batch = {.pool = "p", .count = count};
    for (int i = 0; i < count; i++)
        id_of(batch.entries[i].task, first + i);
    struct record_batch_name name = {.writer = 1, .number = number, .entries = (uint32_t)count};
    assert_int_equal(batch_index_add(ix, &name, &batch, ns), AX_OK);
}

static bool leads_to(const struct batch_index *ix, int i, uint32_t number)
{
    char id[TASK_ID_CHARS + 1];
    struct record_batch_name found[BATCH_INDEX_FOUND_MAX];
    int n = batch_index_find(ix, id_of(id, i), found);
    for (int k = 0; k < n; k++) {
        if (found[k].number == number)
            return true;
    }
    return false;
}

static void each_id_leads_to_its_batch(void **state)
{
    (void)state;
    struct batch_index *ix = make(7);
    char id[TASK_ID_CHARS + 1];
    struct record_batch_name found[BATCH_INDEX_FOUND_MAX];
    for (int batch = 0; batch < 2000; batch++)
        add(ix, (uint32_t)batch, batch * 64, 64, 5 * DAY_NS + batch);
    for (int i = 0; i < 2000 * 64; i++)
        assert_true(leads_to(ix, i, (uint32_t)i / 64));
    int others = 0;
    for (int i = 0; i < 100000; i++)
        others += batch_index_find(ix, id_of(id, 10000000 + i), found);
    assert_true(others < 1000); /* 32 bits: 128,000 × 100,000 / 2^32 = 3 by chance */
    assert_int_equal(batch_index_entries(ix), 2000 * 64);
    batch_index_free(ix);
}

static void newest_batch_comes_first(void **state)
{
    (void)state;
    struct batch_index *ix = make(7);
    char id[TASK_ID_CHARS + 1];
    struct record_batch_name found[BATCH_INDEX_FOUND_MAX];
    add(ix, 1, 0, 1, 5 * DAY_NS);
    add(ix, 3, 0, 1, 6 * DAY_NS);
    add(ix, 2, 0, 1, 5 * DAY_NS + 1);
    assert_int_equal(batch_index_find(ix, id_of(id, 0), found), 3);
    assert_int_equal(found[0].number, 3);
    assert_int_equal(found[1].number, 2);
    assert_int_equal(found[2].number, 1);
    for (uint32_t i = 4; i < 40; i++)
        add(ix, i, 0, 1, 6 * DAY_NS);
    assert_int_equal(batch_index_find(ix, id, found), BATCH_INDEX_FOUND_MAX);
    batch_index_free(ix);
}

static void days_go_with_the_window(void **state)
{
    (void)state;
    struct batch_index *ix = make(7);
    size_t empty = batch_index_bytes(ix);
    for (int day = 0; day < 12; day++)
        add(ix, (uint32_t)day, day * 10, 10, (100 + day) * DAY_NS);
    batch_index_expire(ix, 111 * DAY_NS);
    for (int day = 0; day < 12; day++)
        assert_int_equal(leads_to(ix, day * 10, (uint32_t)day), day >= 4);
    add(ix, 99, 1000, 10, 103 * DAY_NS); /* older than the window */
    assert_false(leads_to(ix, 1000, 99));
    batch_index_expire(ix, 200 * DAY_NS);
    assert_int_equal(batch_index_entries(ix), 0);
    assert_int_equal(batch_index_bytes(ix), empty);
    batch_index_free(ix);
}

static void more_days_than_it_has_are_kept_longer(void **state)
{
    (void)state;
    struct batch_index *ix = make(1);
    for (int day = 10; day > 0; day--)
        add(ix, (uint32_t)day, day * 10, 10, day * DAY_NS);
    add(ix, 20, 500, 10, 20 * DAY_NS);
    for (int day = 1; day <= 10; day++)
        assert_true(leads_to(ix, day * 10, (uint32_t)day));
    assert_true(leads_to(ix, 500, 20));
    batch_index_free(ix);
}

static void the_last_ones_are_kept(void **state)
{
    (void)state;
    struct batch_index *ix;
    assert_int_equal(batch_index_new_recent(&ix, 0), AX_E_INVALID);
    assert_int_equal(batch_index_new_recent(&ix, 1000), AX_OK);
    size_t most = 0;
    for (int batch = 0; batch < 2000; batch++) {
        add(ix, (uint32_t)batch, batch * 50, 50, (2000 - batch) * DAY_NS); /* times do not count */
        batch_index_expire(ix, 5000 * DAY_NS);
        for (int i = batch * 50 - 999; i < (batch + 1) * 50; i++)
            assert_true(i < 0 || leads_to(ix, i, (uint32_t)i / 50));
        assert_true(batch_index_entries(ix) <= 2000);
        most = batch_index_bytes(ix) > most ? batch_index_bytes(ix) : most;
    }
    assert_false(leads_to(ix, 0, 0));
    assert_true(most < 256 * 1024);
    batch_index_free(ix);
}

static void a_million_ids_in_12_bytes_each(void **state)
{
    (void)state;
    struct batch_index *ix = make(7);
    size_t most = 0;
    for (int batch = 0; batch < 20000; batch++) {
        add(ix, (uint32_t)batch, batch * 50, 50, DAY_NS);
        size_t each = batch_index_bytes(ix) / ((size_t)(batch + 1) * 50);
        if (batch > 2000 && each > most)
            most = each;
    }
    assert_true(most <= 13);
    print_message("%.2f bytes an id, %zu at most\n", (double)batch_index_bytes(ix) / 1e6, most);
    batch_index_free(ix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_id_leads_to_its_batch),
        cmocka_unit_test(newest_batch_comes_first),
        cmocka_unit_test(days_go_with_the_window),
        cmocka_unit_test(more_days_than_it_has_are_kept_longer),
        cmocka_unit_test(the_last_ones_are_kept),
        cmocka_unit_test(a_million_ids_in_12_bytes_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
