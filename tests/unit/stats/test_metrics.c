#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/metrics.h"

static size_t occurrences(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

static void the_same_name_and_labels_are_one_metric(void **state)
{
    (void)state;
    char labels[] = "pool=\"email\"";
    struct metric *a = metrics_get(METRIC_COUNTER, "ax_test_total", "Tests run.", labels);
    assert_ptr_equal(metrics_get(METRIC_COUNTER, "ax_test_total", "Tests run.", "pool=\"email\""),
                     a);
    labels[6] = 'X'; /* labels are copied */
    assert_ptr_equal(metrics_get(METRIC_COUNTER, "ax_test_total", "Tests run.", "pool=\"email\""),
                     a);
    struct metric *b = metrics_get(METRIC_COUNTER, "ax_test_total", "Tests run.", "");
    assert_ptr_not_equal(a, b);
    metric_add(a, 2);
    metric_add(a, 3);
    metric_set(b, -7);
    assert_int_equal(metric_value(a), 5);
    assert_int_equal(metric_value(b), -7);
}

static void text_is_what_prometheus_reads(void **state)
{
    (void)state;
    /* registered with other names in between: in the text each name is one group */
    metric_set(metrics_get(METRIC_GAUGE, "ax_depth", "Depth of \\ and\nlines.", "priority=\"low\""),
               9);
    metric_set(metrics_get(METRIC_COUNTER, "ax_other_total", "Others.", ""), 1);
    metric_set(
        metrics_get(METRIC_GAUGE, "ax_depth", "Depth of \\ and\nlines.", "priority=\"high\""),
        INT64_MIN);
    size_t bytes = 0;
    char *text = metrics_text(&bytes);
    assert_non_null(text);
    assert_int_equal(bytes, strlen(text));
    assert_non_null(strstr(text, "# HELP ax_depth Depth of \\\\ and\\nlines.\n"
                                 "# TYPE ax_depth gauge\n"
                                 "ax_depth{priority=\"high\"} -9223372036854775808\n"
                                 "ax_depth{priority=\"low\"} 9\n"
                                 "# HELP ax_other_total Others.\n"
                                 "# TYPE ax_other_total counter\n"
                                 "ax_other_total 1\n"));
    assert_int_equal(occurrences(text, "# TYPE ax_depth "), 1);
    assert_int_equal(occurrences(text, "# HELP ax_depth "), 1);
    assert_int_equal(text[bytes - 1], '\n');
    free(text);
}

static void real_values_and_what_nobody_can_tell(void **state)
{
    (void)state;
    struct metric *busy = metrics_get(METRIC_REAL, "ax_busy_ratio", "Busy.", "pool=\"email\"");
    struct metric *whole = metrics_get(METRIC_REAL, "ax_busy_ratio", "Busy.", "pool=\"other\"");
    struct metric *gone = metrics_get(METRIC_GAUGE, "ax_gone", "Gone.", "");
    metric_set_real(busy, 0.25);
    metric_set_real(whole, 1);
    metric_set(gone, 3);
    metric_hide(gone, true);
    size_t bytes = 0;
    char *text = metrics_text(&bytes);
    assert_non_null(
        strstr(text, "# HELP ax_busy_ratio Busy.\n# TYPE ax_busy_ratio gauge\n"
                     "ax_busy_ratio{pool=\"email\"} 0.25\nax_busy_ratio{pool=\"other\"} 1\n"));
    assert_null(strstr(text, "ax_gone"));
    free(text);
    metric_hide(busy, true); /* the first of its name: the next one gets the head */
    metric_hide(gone, false);
    text = metrics_text(&bytes);
    assert_non_null(strstr(text, "# TYPE ax_busy_ratio gauge\nax_busy_ratio{pool=\"other\"} 1\n"));
    assert_non_null(strstr(text, "ax_gone 3\n"));
    free(text);
}

static void histogram_counts(void **state)
{
    (void)state;
    struct metric *h = metrics_get(METRIC_HISTOGRAM, "ax_run_seconds", "Run time.",
                                   "pool=\"email\"");
    for (int i = 0; i < 90; i++) {
        metric_observe_ns(h, 4000000); /* 4 ms: between 2 and 5 */
    }
    for (int i = 0; i < 9; i++) {
        metric_observe_ns(h, 2000000000); /* 2 s: between 1 and 2.5 */
    }
    metric_observe_ns(h, 7200000000000); /* 2 h: beyond the last */
    metric_observe_ns(h, -5);            /* a clock that was set back counts as nothing */
    assert_int_equal(metric_value(h), 101);
    size_t bytes = 0;
    char *text = metrics_text(&bytes);
    assert_non_null(text);
    assert_non_null(strstr(text, "# TYPE ax_run_seconds histogram\n"
                                 "ax_run_seconds_bucket{pool=\"email\",le=\"0.001\"} 1\n"
                                 "ax_run_seconds_bucket{pool=\"email\",le=\"0.002\"} 1\n"
                                 "ax_run_seconds_bucket{pool=\"email\",le=\"0.005\"} 91\n"));
    assert_non_null(strstr(text, "ax_run_seconds_bucket{pool=\"email\",le=\"3600\"} 100\n"
                                 "ax_run_seconds_bucket{pool=\"email\",le=\"+Inf\"} 101\n"
                                 "ax_run_seconds_sum{pool=\"email\"} 7218.36\n"
                                 "ax_run_seconds_count{pool=\"email\"} 101\n"));
    free(text);
}

static void *count(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        char labels[32];
        snprintf(labels, sizeof(labels), "pool=\"p%d\"", i % 10);
        metric_add(metrics_get(METRIC_COUNTER, "ax_race_total", "Races.", labels), 1);
        if (i % 5000 == 0) {
            size_t bytes;
            free(metrics_text(&bytes));
        }
    }
    return arg;
}

static void metrics_of_one_label_are_hidden_together(void **state)
{
    (void)state;
    size_t bytes;
    metrics_get(METRIC_COUNTER, "ax_gone_total", "Gone.", "pool=\"gone\",reason=\"a\"");
    metrics_get(METRIC_GAUGE, "ax_gone", "Gone.", "priority=\"high\",pool=\"gone\"");
    metrics_get(METRIC_GAUGE, "ax_gone", "Gone.", "pool=\"gone2\"");
    metrics_get(METRIC_GAUGE, "ax_gone", "Gone.", "mypool=\"gone\"");
    metrics_hide_labelled("pool=\"gone\"", true);
    char *text = metrics_text(&bytes);
    assert_null(strstr(text, "ax_gone_total{"));
    assert_null(strstr(text, "priority=\"high\",pool=\"gone\""));
    assert_non_null(strstr(text, "{pool=\"gone2\"}"));
    assert_non_null(strstr(text, "{mypool=\"gone\"}"));
    free(text);
    metrics_hide_labelled("pool=\"gone\"", false);
    text = metrics_text(&bytes);
    assert_non_null(strstr(text, "ax_gone_total{pool=\"gone\",reason=\"a\"} 0"));
    free(text);
}

static void threads_lose_no_count(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    int64_t sum = 0;
    for (int i = 0; i < 10; i++) {
        char labels[32];
        snprintf(labels, sizeof(labels), "pool=\"p%d\"", i);
        sum += metric_value(metrics_get(METRIC_COUNTER, "ax_race_total", "Races.", labels));
    }
    assert_int_equal(sum, 80000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_name_and_labels_are_one_metric),
        cmocka_unit_test(text_is_what_prometheus_reads),
        cmocka_unit_test(real_values_and_what_nobody_can_tell),
        cmocka_unit_test(histogram_counts),
        cmocka_unit_test(metrics_of_one_label_are_hidden_together),
        cmocka_unit_test(threads_lose_no_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
