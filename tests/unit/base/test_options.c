#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "base/secret.h"

static const char *const variables[] = {
#define X(field, flag, letter, variable, ...) variable,
    OPTIONS_TABLE(X)
#undef X
};

static int clean_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        unsetenv(variables[i]);
    }
    return 0;
}

#define PARSE(o, who, first, p, ...) \
    parse(o, who, false, first, p, (char *[]){"ax-test", ##__VA_ARGS__, NULL})

static char **last_argv;
static ax_err parse(struct options *o, enum options_for who, bool stop, int *first,
                    struct problem *p, char **argv)
{
    int argc = 0;
    while (argv[argc]) {
        argv[argc] = (char *)secret_keep(argv[argc]); /* secrets are overwritten */
        argc++;
    }
    last_argv = argv;
    return options_parse(o, who, argc, argv, stop, first, p);
}

static void defaults(void **state)
{
    (void)state;
    struct options o;
    int first = -1;
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL), AX_OK);
    assert_int_equal(first, 1);
    assert_null(o.server);
    assert_null(o.creds);
    assert_null(o.user);
    assert_null(o.password);
    assert_null(o.password_file);
    assert_null(o.inbox_prefix);
    assert_null(o.reply_prefixes);
    assert_null(o.ca);
    assert_null(o.cert);
    assert_null(o.key);
    assert_string_equal(o.log_level, "info");
    assert_string_equal(o.http_bind, "127.0.0.1");
    assert_int_equal(o.http_port, 0);
    assert_int_equal(o.replicas, 1);
    assert_int_equal(o.inflight, 16384);
    assert_int_equal(o.filter_entries, 200000);
    assert_int_equal(o.lease_ttl_ms, 5000);
    assert_false(o.strict_pools);
}

static void flags_and_environment_reach_their_fields(void **state)
{
    (void)state;
    static char *const cases[][3] = {
        /* flag, variable, value */
        {"--server", "NATS_URL", "nats://h:1"},
        {"--creds", "NATS_CREDS", "f.creds"},
        {"--user", "NATS_USER", "joe"},
        {"--password", "NATS_PASSWORD", "pw"},
        {"--tlsca", "NATS_CA", "ca.pem"},
        {"--tlscert", "NATS_CERT", "c.pem"},
        {"--tlskey", "NATS_KEY", "k.pem"},
        {"--log-level", "AX_LOG_LEVEL", "debug"},
        {"--http-bind", "AX_HTTP_BIND", "::1"},
        {"--password-file", "NATS_PASSWORD_FILE", "f"},
        {"--inbox-prefix", "AX_INBOX_PREFIX", "_INBOX_x.y"},
        {"--reply-prefixes", "AX_REPLY_PREFIXES", "_I,_J.k"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct options o;
        const char **fields[] = {&o.server,        &o.creds,        &o.user,
                                 &o.password,      &o.ca,           &o.cert,
                                 &o.key,           &o.log_level,    &o.http_bind,
                                 &o.password_file, &o.inbox_prefix, &o.reply_prefixes};
        int first;
        assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL, cases[i][0], cases[i][2]), AX_OK);
        assert_string_equal(*fields[i], cases[i][2]);
        setenv(cases[i][1], cases[i][2], 1);
        assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL), AX_OK);
        assert_string_equal(*fields[i], cases[i][2]);
        unsetenv(cases[i][1]);
    }
    static char *const numbers[][3] = {{"--http", "AX_HTTP", "-1"},
                                       {"--replicas", "AX_REPLICAS", "3"},
                                       {"--inflight", "AX_INFLIGHT", "16"},
                                       {"--filter-entries", "AX_FILTER_ENTRIES", "100000000"}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct options o;
        int64_t *fields[] = {&o.http_port, &o.replicas, &o.inflight, &o.filter_entries};
        int first;
        assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL, numbers[i][0], numbers[i][2]), AX_OK);
        assert_int_equal(*fields[i], atoll(numbers[i][2]));
        setenv(numbers[i][1], numbers[i][2], 1);
        assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL), AX_OK);
        assert_int_equal(*fields[i], atoll(numbers[i][2]));
        unsetenv(numbers[i][1]);
    }
    struct options o;
    int first;
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL, "--lease-ttl", "1m"), AX_OK);
    assert_int_equal(o.lease_ttl_ms, 60000);
    setenv("AX_LEASE_TTL", "1500ms", 1);
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL), AX_OK);
    assert_int_equal(o.lease_ttl_ms, 1500);
    unsetenv("AX_LEASE_TTL");
    struct problem p = {0};
    static char *const wrong[] = {"999ms", "61s", "5", "", "fast"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, &p, "--lease-ttl", wrong[i]),
                         AX_E_INVALID);
        assert_non_null(strstr(p.text, "--lease-ttl"));
        assert_non_null(strstr(p.text, "1s to 1m"));
    }
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL, "--strict-pools", "-s", "nats://x"),
                     AX_OK);
    assert_true(o.strict_pools);
    assert_string_equal(o.server, "nats://x");
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL, "--http=8080"), AX_OK);
    assert_int_equal(o.http_port, 8080);
}

/* Each row by its flag and by its variable, with a value that is not its default. */
static void every_row_is_read_from_both(void **state)
{
    (void)state;
    struct options given, other;
    struct flag_row rows[OPTIONS_ROWS_MAX];
    int first, count = options_rows(&given, FOR_AX, rows);
    assert_int_equal(count, sizeof(variables) / sizeof(*variables));
    for (int i = 0; i < count; i++) {
        const struct flag *f = &rows[i].flag;
        char flag[160], text[64];
        switch (f->kind) {
        case FLAG_CHOICE:
            snprintf(text, sizeof(text), "%.*s", (int)strcspn(rows[i].words, "|"), rows[i].words);
            break;
        case FLAG_INT:
            snprintf(text, sizeof(text), "%lld", (long long)f->max);
            break;
        case FLAG_MS:
            snprintf(text, sizeof(text), "%lldms", (long long)f->max);
            break;
        case FLAG_BYTES:
            snprintf(text, sizeof(text), "%lldB", (long long)f->max);
            break;
        default:
            snprintf(text, sizeof(text), "%s", f->kind == FLAG_BOOL ? "1" : "text");
            break;
        }
        if (f->kind == FLAG_BOOL)
            snprintf(flag, sizeof(flag), "--%s", f->name);
        else
            snprintf(flag, sizeof(flag), "--%s=%s", f->name, text);
        assert_int_equal(PARSE(&given, FOR_AX, &first, NULL), AX_OK);
        struct options standard = given;
        assert_int_equal(PARSE(&given, FOR_AX, &first, NULL, flag), AX_OK);
        assert_memory_not_equal(&given, &standard, sizeof(given));
        setenv(rows[i].variable, text, 1);
        assert_int_equal(PARSE(&other, FOR_AX, &first, NULL), AX_OK);
        unsetenv(rows[i].variable);
        /* the same but for where text stands */
        const void *here = f->target,
                   *there = (char *)&other + ((char *)f->target - (char *)&given);
        if (f->kind == FLAG_TEXT || f->kind == FLAG_CHOICE || f->kind >= FLAG_HIDE)
            assert_string_equal(*(const char *const *)here, text);
        else if (f->kind == FLAG_BOOL)
            assert_int_equal(*(const bool *)here, *(const bool *)there);
        else
            assert_int_equal(*(const int64_t *)here, *(const int64_t *)there);
    }
}

static void flag_wins_over_environment_wins_over_default(void **state)
{
    (void)state;
    struct options o;
    int first;
    setenv("AX_HTTP", "1000", 1);
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL, "--http", "2000"), AX_OK);
    assert_int_equal(o.http_port, 2000);
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL), AX_OK);
    assert_int_equal(o.http_port, 1000);
    setenv("AX_HTTP", "", 1);
    setenv("NATS_URL", "", 1);
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, NULL), AX_OK);
    assert_int_equal(o.http_port, 0);
    assert_null(o.server);
}

static void switch_in_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int is;
    } cases[] = {{"1", 1},  {"true", 1}, {"yes", 1}, {"on", 1},     {"0", 0},   {"false", 0},
                 {"no", 0}, {"off", 0},  {"", 0},    {"maybe", -1}, {"tru", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct options o;
        struct problem p = {0};
        int first;
        setenv("AX_STRICT_POOLS", cases[i].value, 1);
        ax_err err = PARSE(&o, FOR_INGRESS, &first, &p);
        assert_int_equal(err, cases[i].is < 0 ? AX_E_INVALID : AX_OK);
        if (err == AX_OK) {
            assert_int_equal(o.strict_pools, cases[i].is);
        } else {
            assert_non_null(strstr(p.text, "AX_STRICT_POOLS"));
        }
    }
}

static void bad_values_name_flag_value_and_range(void **state)
{
    (void)state;
    static char *const cases[][4] = {
        {"--http", "65536", "--http: \"65536\"", "-1 to 65535"},
        {"--http", "-2", "\"-2\"", "-1 to 65535"},
        {"--http", "8o", "\"8o\"", "whole number"},
        {"--http", "", "\"\"", "whole number"},
        {"--http", " 5", "\" 5\"", "whole number"},
        {"--http", "99999999999999999999", "whole number", "65535"},
        {"--replicas", "2", "--replicas: \"2\"", "1|3|5"},
        {"--replicas", "7", "\"7\"", "1|3|5"},
        {"--inflight", "15", "--inflight: \"15\"", "16 to 1048576"},
        {"--inflight", "1048577", "\"1048577\"", "16 to 1048576"},
        {"--filter-entries", "1023", "\"1023\"", "1024 to 100000000"},
        {"--log-level", "loud", "\"loud\"", "error|warn|info|debug"},
        {"--log-level", "inf", "\"inf\"", "error|warn|info|debug"},
        {"--server", "", "--server", "empty"},
        {"--inbox-prefix", "$JS.API", "\"$JS.API\"", "1 to 48 characters"},
        {"--inbox-prefix", "a,b.", "\"a,b.\"", "no wildcards"},
        {"--reply-prefixes", "_INBOX_a,ax.queue", "\"_INBOX_a,ax.queue\"", "with commas"},
        {"--reply-prefixes", "_INBOX_a,", "\"_INBOX_a,\"", "each of 1 to 48 characters"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct options o;
        struct problem p = {0};
        int first;
        assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p, cases[i][0], cases[i][1]),
                         AX_E_INVALID);
        if (!strstr(p.text, cases[i][2]) || !strstr(p.text, cases[i][3])) {
            fail_msg("\"%s\" does not say %s and %s", p.text, cases[i][2], cases[i][3]);
        }
    }
    struct options o;
    struct problem p = {0};
    int first;
    setenv("AX_REPLICAS", "4", 1);
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p), AX_E_INVALID);
    assert_non_null(strstr(p.text, "AX_REPLICAS: \"4\""));
}

static void secrets_leave_the_command_line(void **state)
{
    (void)state;
    struct options o;
    int first;
    char name[] = "ax", server[] = "--server=nats://joe:s3cret@h:1,tls://t0ken@[::1]:2",
         user[] = "--user", joe[] = "joe", password[] = "--password", pw[] = "pa:ss@wd",
         file[] = "--password-file=f";
    char *argv[] = {name, server, user, joe, password, pw, file, NULL};
    assert_int_equal(options_parse(&o, FOR_INGRESS, 7, argv, false, &first, NULL), AX_OK);
    assert_string_equal(o.server, "nats://joe:s3cret@h:1,tls://t0ken@[::1]:2");
    assert_string_equal(o.user, "joe");
    assert_string_equal(o.password, "pa:ss@wd");
    assert_string_equal(o.password_file, "f");
    assert_string_equal(server, "--server=nats://xxxxxxxxxx@h:1,tls://xxxxx@[::1]:2");
    assert_string_equal(joe, "xxx");
    assert_string_equal(pw, "xxxxxxxx");
    assert_string_equal(file, "--password-file=f");
}

static void a_mistyped_secret_is_not_repeated(void **state)
{
    (void)state;
    struct options o;
    struct problem p = {0};
    int first;
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p, "--pasword=s3cret"), AX_E_INVALID);
    assert_non_null(strstr(p.text, "--pasword: no such flag"));
    assert_null(strstr(p.text, "s3cret"));
}

static void unknown_flags_and_missing_values(void **state)
{
    (void)state;
    struct options o;
    struct problem p = {0};
    int first;
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p, "--frobnicate"), AX_E_INVALID);
    assert_non_null(strstr(p.text, "--frobnicate"));
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p, "-x"), AX_E_INVALID);
    assert_non_null(strstr(p.text, "-x"));
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p, "--server"), AX_E_INVALID);
    assert_non_null(strstr(p.text, "--server: needs a value"));
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p, "-s"), AX_E_INVALID);
    assert_non_null(strstr(p.text, "-s: needs a value"));
    assert_int_equal(PARSE(&o, FOR_INGRESS, &first, &p, "--strict-pools=yes"), AX_E_INVALID);
    assert_non_null(strstr(p.text, "--strict-pools"));
    /* an option of another program */
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, &p, "--strict-pools"), AX_E_INVALID);
    setenv("AX_INFLIGHT", "nonsense", 1);
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, &p), AX_OK);
}

static void arguments_are_left(void **state)
{
    (void)state;
    struct options o;
    int first;
    assert_int_equal(PARSE(&o, FOR_AX, &first, NULL, "one", "--http", "5", "two"), AX_OK);
    assert_string_equal(last_argv[first], "one");
    assert_string_equal(last_argv[first + 1], "two");
    assert_null(last_argv[first + 2]);

    char *argv[] = {"ax", "--http", "5", "submit", "--key", "k", NULL};
    assert_int_equal(parse(&o, FOR_AX, true, &first, NULL, argv), AX_OK);
    assert_int_equal(first, 3);
    assert_string_equal(argv[first], "submit");
    assert_int_equal(o.http_port, 5);
}

/* Runs with stdout in a file and gives what was printed. */
static const char *printed(enum options_for who, char *flag)
{
    static char text[8192];
    char path[] = "/tmp/ax-test-options-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    fflush(stdout);
    int real = dup(STDOUT_FILENO);
    dup2(fd, STDOUT_FILENO);
    struct options o;
    int first;
    ax_err err = PARSE(&o, who, &first, NULL, flag);
    fflush(stdout);
    dup2(real, STDOUT_FILENO);
    close(real);
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    assert_int_equal(err, AX_E_CLOSED);
    return text;
}

static void help_and_version(void **state)
{
    (void)state;
    assert_string_equal(printed(FOR_INGRESS, "--version"), AX_VERSION "\n");
    const char *text = printed(FOR_INGRESS, "--help");
    assert_non_null(strstr(text, "-s, --server URL"));
    assert_non_null(strstr(text, "AX_INFLIGHT; 16 to 1048576; default 16384"));
    assert_non_null(strstr(text, "--strict-pools"));
    text = printed(FOR_DISPATCH, "-h");
    assert_non_null(strstr(text, "NATS_CREDS"));
    assert_null(strstr(text, "--strict-pools"));
    setenv("AX_HTTP", "nonsense", 1);
    assert_non_null(strstr(printed(FOR_INGRESS, "--help"), "--http PORT"));
}

/* Makes these files in a directory that systemd's variable names; text: what is in them. */
static void make_credentials(char directory[32], const char *const *names)
{
    char path[64];
    strcpy(directory, "/tmp/ax-options-XXXXXX");
    assert_non_null(mkdtemp(directory));
    for (; *names != NULL; names++) {
        snprintf(path, sizeof(path), "%s/%s", directory, *names);
        close(open(path, O_WRONLY | O_CREAT, 0600));
    }
    setenv("CREDENTIALS_DIRECTORY", directory, 1);
}

static void remove_credentials(const char *directory, const char *const *names)
{
    char path[64];
    for (; *names != NULL; names++) {
        snprintf(path, sizeof(path), "%s/%s", directory, *names);
        unlink(path);
    }
    rmdir(directory);
    unsetenv("CREDENTIALS_DIRECTORY");
}

static void assert_within(const char *directory, const char *name, const char *path)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "%s/%s", directory, name);
    assert_string_equal(path, expected);
}

static void credentials_of_systemd(void **state)
{
    (void)state;
    const char *const all[] = {"ax.creds", "ax.password", "ax.key", NULL}, *const none[] = {NULL};
    char directory[32];
    struct options o;
    int first;
    make_credentials(directory, all);
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL), AX_OK);
    assert_within(directory, "ax.creds", o.creds);
    assert_within(directory, "ax.password", o.password_file);
    assert_null(o.key); /* of no certificate */
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL, "--tlscert", "c.pem"), AX_OK);
    assert_within(directory, "ax.key", o.key);

    /* What was named wins. */
    setenv("NATS_PASSWORD", "x", 1);
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL, "--creds", "mine", "--tlscert", "c.pem",
                           "--tlskey", "k.pem"),
                     AX_OK);
    assert_string_equal(o.creds, "mine");
    assert_null(o.password_file);
    assert_string_equal(o.key, "k.pem");
    unsetenv("NATS_PASSWORD");
    remove_credentials(directory, all);

    make_credentials(directory, none);
    assert_int_equal(PARSE(&o, FOR_DISPATCH, &first, NULL), AX_OK);
    assert_null(o.creds);
    assert_null(o.password_file);
    remove_credentials(directory, none);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, clean_environment, clean_environment)
    const struct CMUnitTest tests[] = {
        TEST(credentials_of_systemd),
        TEST(defaults),
        TEST(flags_and_environment_reach_their_fields),
        TEST(every_row_is_read_from_both),
        TEST(flag_wins_over_environment_wins_over_default),
        TEST(switch_in_the_environment),
        TEST(bad_values_name_flag_value_and_range),
        TEST(secrets_leave_the_command_line),
        TEST(a_mistyped_secret_is_not_repeated),
        TEST(unknown_flags_and_missing_values),
        TEST(arguments_are_left),
        TEST(help_and_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
