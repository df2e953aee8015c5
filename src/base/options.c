#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

int options_rows(struct options *o, enum options_for who, struct flag_row rows[OPTIONS_ROWS_MAX])
{
    const struct {
        int who;
        struct flag_row row;
    } table[] = {
#define X(field, flag, letter, variable, kind, min, max, words, standard, value, for_whom, help) \
    {for_whom,                                                                                   \
     {{flag, FLAG_##kind, &o->field, min, max, value, help}, letter, variable, words, standard}},
        OPTIONS_TABLE(X)
#undef X
    };
    _Static_assert(sizeof(table) / sizeof(*table) <= OPTIONS_ROWS_MAX - 2, "and help and version");
    int count = 0;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (table[i].who & (int)who)
            rows[count++] = table[i].row;
    }
    return count;
}

/* "NATS_URL=…" and "NATS_URL" are of the variable NATS_URL. */
static bool is_of_variable(const char *entry, const char *variable)
{
    size_t n = strlen(variable);
    return strncmp(entry, variable, n) == 0 && (entry[n] == '=' || entry[n] == '\0');
}

bool options_is_private(const char *entry)
{
    struct options o;
    struct flag_row rows[OPTIONS_ROWS_MAX];
    int count = options_rows(&o, FOR_ALL, rows);
    for (int i = 0; i < count; i++) {
        if (rows[i].variable != NULL && is_of_variable(entry, rows[i].variable))
            return true;
    }
    return strncmp(entry, "NATS_", strlen("NATS_")) == 0 ||
           is_of_variable(entry, "CREDENTIALS_DIRECTORY");
}

/* Empty counts as not set: that is how compose files and units switch a variable off. */
static ax_err read_environment(const struct flag_row *rows, int count, struct problem *p)
{
    ax_err err = AX_OK;
    for (int i = 0; err == AX_OK && i < count; i++) {
        const char *value = getenv(rows[i].variable);
        if (value != NULL && *value != '\0')
            err = flag_store(&rows[i], rows[i].variable, value, p);
    }
    return err;
}

/* What systemd hands over as files, where nothing else was given (deploy/ax-ingress.service). */
static void take_credentials(struct options *o)
{
    if (o->creds == NULL)
        o->creds = secret_credential("ax.creds");
    if (o->password == NULL && o->password_file == NULL)
        o->password_file = secret_credential("ax.password");
    if (o->key == NULL && o->cert != NULL)
        o->key = secret_credential("ax.key");
}

ax_err options_parse(struct options *o, enum options_for who, int argc, char **argv,
                     bool stop_at_first, int *first, struct problem *p)
{
    struct flag_row rows[OPTIONS_ROWS_MAX];
    bool help = false, version = false;
    *o = (struct options){0};
    /* Also for the options that this program does not know: code that it shares reads them. */
    int count = options_rows(o, FOR_ALL, rows);
    for (int i = 0; i < count; i++) {
        if (rows[i].standard != NULL)
            flag_store(&rows[i], rows[i].flag.name, rows[i].standard, NULL);
    }
    count = options_rows(o, who, rows);
    ax_err err = read_environment(rows, count, p);
    rows[count++] = (struct flag_row){.flag = {.name = "help", .kind = FLAG_STOP, .target = &help},
                                      .letter = 'h'};
    rows[count++] = (struct flag_row){
        .flag = {.name = "version", .kind = FLAG_STOP, .target = &version}};

    int words = argc - 1;
    ax_err wrong = flag_parse(rows, count, stop_at_first, &words, argv + 1, p);
    take_credentials(o);
    if (help) {
        printf("Options of %s:\n", argv[0]);
        options_print_help(who);
    }
    if (version)
        printf("%s\n", AX_VERSION);
    *first = argc - words;
    memmove(argv + *first, argv + 1, (size_t)words * sizeof(*argv));
    return wrong != AX_OK ? wrong : err;
}

void options_print_help(enum options_for who)
{
    struct options o;
    struct flag_row rows[OPTIONS_ROWS_MAX];
    int count = options_rows(&o, who, rows);
    rows[count++] = (struct flag_row){.flag = {.name = "help", .help = "this text"}, .letter = 'h'};
    rows[count++] = (struct flag_row){.flag = {.name = "version", .help = "the version"}};
    for (int i = 0; i < count; i++)
        flag_print(&rows[i], true);
}
