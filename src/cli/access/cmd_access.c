/* `ax access`: flags, and the order of things. It connects to nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/quote.h"
#include "cli/access/passwords.h"
#include "cli/access/rights.h"
#include "cli/access/server_conf.h"
#include "cli/access/users.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"

#define PULL_WAIT_MIN_MS 1000
#define PULL_WAIT_DEFAULT_MS (2 * 60000)
#define PULL_WAIT_MAX_MS (24 * 3600000)

const char cmd_access_detail[] =
    "Prints the part of nats-server's configuration that keeps teams apart: AX in the account AX, "
    "each team in an\n"
    "account of its own that reaches its pools and nothing else. A team is\n"
    "NAME:pools=a,b[,priorities=x,y][,workers=pool|team][,workers-submit=yes|no][,cancel=yes|no]. "
    "No priorities: all.\n"
    "Its users are NAME-producer and NAME-<pool> for each pool (workers=team: NAME-worker for "
    "all); "
    "AX's are ingress,\n"
    "dispatch and operator. Passwords are variables of the server ($AX_PASSWORD_…), or files with "
    "--passwords.";

struct access_flags {
    struct flag_list teams;
    bool single;
    const char *passwords, *inbox, *domain;
    int64_t pull_wait_ms;
};

static int parse(struct cli *c, struct access_flags *f)
{
    const struct flag flags[] = {
        {"team", FLAG_LIST, &f->teams, 0, 0, "TEAM", "a team and its pools; may be repeated"},
        {"single", FLAG_BOOL, &f->single, 0, 0, NULL,
         "one account for AX and one team that trusts itself"},
        {"passwords", FLAG_TEXT, &f->passwords, 0, 0, "DIR",
         "make passwords there, a file a user, and passwords.conf for the server to include"},
        {"inbox", FLAG_TEXT, &f->inbox, 0, 0, "WHAT",
         "private (default): inboxes begin with _INBOX.<user>; shared: with _INBOX"},
        {"domain", FLAG_TEXT, &f->domain, 0, 0, "NAME", "JetStream's domain (default none)"},
        {"pull-wait", FLAG_MS, &f->pull_wait_ms, PULL_WAIT_MIN_MS, PULL_WAIT_MAX_MS, "DURATION",
         "how long the server keeps the way back for a waiting pull request (default 2m)"},
    };
    return args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 0, 0);
}

static bool is_quotable(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || strchr("\"\\\177", *text) != NULL)
            return false;
    }
    return true;
}

static int check(const struct access_flags *f)
{
    char quoted[QUOTE_MAX];
    if (strcmp(f->inbox, "private") != 0 && strcmp(f->inbox, "shared") != 0) {
        return say(CLI_USAGE, "--inbox: %s given, allowed are private, shared",
                   quote_text(f->inbox, quoted));
    }
    if (strcmp(f->domain, "_") != 0 && !name_is_valid(f->domain)) {
        return say(CLI_USAGE, "--domain: %s given, allowed are 1 to %d of A-Z a-z 0-9 _ -",
                   quote_text(f->domain, quoted), NAME_MAX_CHARS);
    }
    if (f->passwords != NULL &&
        (f->passwords[0] == '\0' || f->passwords[0] == '/' || !is_quotable(f->passwords))) {
        return say(CLI_USAGE,
                   "--passwords: %s given, allowed is a path that is relative to the server's "
                   "configuration, which includes a file there",
                   quote_text(f->passwords, quoted));
    }
    if (f->teams.count == 0)
        return say(CLI_USAGE, "--team is missing: such as --team mail:pools=email,newsletter");
    if (f->single && f->teams.count > 1)
        return say(CLI_USAGE, "--single is for one team, %d are given", f->teams.count);
    return CLI_OK;
}

static ax_err read_teams(const struct access_flags *f, struct team *teams, struct problem *p)
{
    ax_err err = AX_OK;
    for (int i = 0; err == AX_OK && i < f->teams.count; i++)
        err = team_parse(&teams[i], f->teams.values[i], p);
    return err == AX_OK ? team_check_apart(teams, f->teams.count, p) : err;
}

static ax_err print(const struct access_flags *f, const struct setting *s, struct problem *p)
{
    char file[512];
    struct setting with = *s;
    if (f->passwords != NULL) {
        ax_err err = passwords_make(f->passwords, s->users, s->user_count, p);
        if (err != AX_OK)
            return err;
        snprintf(file, sizeof(file), "%s/" PASSWORDS_FILE, f->passwords);
        with.passwords = file;
    }
    server_conf_print(stdout, &with);
    return AX_OK;
}

int cmd_access(struct cli *c)
{
    struct access_flags f = {
        .inbox = "private", .domain = "_", .pull_wait_ms = PULL_WAIT_DEFAULT_MS};
    int code = parse(c, &f);
    if (code >= 0)
        return code;
    code = check(&f);
    if (code != CLI_OK)
        return code;
    struct problem p = {0};
    char pull_wait[32];
    snprintf(pull_wait, sizeof(pull_wait), "%llds", (long long)(f.pull_wait_ms + 999) / 1000);
    struct user *users = NULL;
    struct team *teams = calloc((size_t)f.teams.count, sizeof(*teams));
    struct setting s = {.teams = teams,
                        .team_count = f.teams.count,
                        .single = f.single,
                        .private_inbox = strcmp(f.inbox, "private") == 0,
                        .domain = f.domain,
                        .pull_wait = pull_wait};
    ax_err err = teams != NULL ? read_teams(&f, teams, &p)
                               : problem_set(&p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    if (err == AX_OK)
        err = users_make(teams, f.teams.count, f.single, &users, &s.user_count, &p);
    s.users = users;
    if (err == AX_OK)
        err = print(&f, &s, &p);
    free(users);
    free(teams);
    return err == AX_OK ? CLI_OK : say_problem(&p);
}
