#include "cli/access/server_conf.h"

#include <string.h>

#include "cli/access/users.h"

#define COLUMNS 96
/* Where an account has no JetStream and no import of this subject, the server answers every request
 * to JetStream there with an error, beside and before AX's answer. So each team imports it, from a
 * subject on which nobody listens. */
#define ACCOUNT_INFO "$JS.API.INFO"
#define NOBODY "ax.nobody"

/* ---- lists of subjects, in lines of at most COLUMNS */

struct list {
    FILE *out;
    int indent; /* of the lines that follow the first */
    int at;     /* column; 0: nothing is printed yet */
};

static void print_item(void *arg, const struct right *r, const char *subject)
{
    (void)r;
    struct list *l = arg;
    int chars = (int)strlen(subject) + 2;
    if (l->at == 0) {
        l->at = l->indent;
    } else if (l->at + chars + 4 > COLUMNS) {
        fprintf(l->out, ",\n%*s", l->indent, "");
        l->at = l->indent;
    } else {
        l->at += fprintf(l->out, ", ");
    }
    l->at += fprintf(l->out, "\"%s\"", subject);
}

static void print_rights(FILE *out, const struct setting *s, const struct user *u,
                         enum rights_way way, int indent)
{
    int head = fprintf(out, "%*s%s: [ ", indent, "",
                       way == RIGHTS_PUBLISH ? "publish" : "subscribe");
    struct list l = {out, head, 0};
    rights_each(s, u, way, print_item, &l);
    fprintf(out, " ]");
}

/* ---- users */

static void print_user(FILE *out, const struct setting *s, const struct user *u, int indent)
{
    char variable[USERS_VARIABLE_MAX_CHARS];
    users_variable(u, variable);
    fprintf(out, "%*s{ user: \"%s\", password: $%s", indent, "", u->name, variable);
    if (u->roles == RIGHTS_OPERATOR) {
        fprintf(out, " }\n");
        return;
    }
    fprintf(out, ", permissions: {\n");
    print_rights(out, s, u, RIGHTS_PUBLISH, indent + 4);
    fprintf(out, "\n");
    print_rights(out, s, u, RIGHTS_SUBSCRIBE, indent + 4);
    fprintf(out, " } }\n");
}

/* Those of one team; NULL: AX's own. */
static void print_users(FILE *out, const struct setting *s, const struct team *t, int indent)
{
    fprintf(out, "%*susers: [\n", indent, "");
    for (int i = 0; i < s->user_count; i++) {
        if (s->single || s->users[i].team == t)
            print_user(out, s, &s->users[i], indent + 4);
    }
    fprintf(out, "%*s]\n", indent, "");
}

/* ---- exports and imports */

struct exports {
    FILE *out;
    const struct setting *setting;
    const struct team *team;
};

static void print_export(void *arg, const struct right *r, const char *subject)
{
    const struct exports *e = arg;
    bool service = r->export != RIGHTS_STREAM;
    fprintf(e->out, "            { %s: \"%s\", ", service ? "service" : "stream", subject);
    if (r->export == RIGHTS_SERVICE_STREAM) {
        fprintf(e->out, "response_type: stream, response_threshold: \"%s\", ",
                e->setting->pull_wait);
    }
    fprintf(e->out, "accounts: [ \"%s\" ] }\n", e->team->name);
}

static void print_import(void *arg, const struct right *r, const char *subject)
{
    const struct exports *e = arg;
    fprintf(e->out, "            { %s: { account: \"" TEAM_ACCOUNT_AX "\", subject: \"%s\" } }\n",
            r->export != RIGHTS_STREAM ? "service" : "stream", subject);
}

static void print_ax(FILE *out, const struct setting *s)
{
    fprintf(out, "    \"" TEAM_ACCOUNT_AX "\" {\n        jetstream: enabled\n");
    print_users(out, s, NULL, 8);
    fprintf(out, "        exports: [\n");
    for (int i = 0; i < s->team_count; i++) {
        struct exports e = {out, s, &s->teams[i]};
        rights_each_export(s, e.team, print_export, &e);
    }
    fprintf(out, "            # Nobody listens there: see the imports.\n"
                 "            { service: \"" NOBODY "\", accounts: [");
    for (int i = 0; i < s->team_count; i++)
        fprintf(out, "%s \"%s\"", i > 0 ? "," : "", s->teams[i].name);
    fprintf(out, " ] }\n        ]\n    }\n");
}

static void print_team(FILE *out, const struct setting *s, const struct team *t)
{
    struct exports e = {out, s, t};
    fprintf(out, "    \"%s\" {\n", t->name);
    print_users(out, s, t, 8);
    fprintf(out, "        imports: [\n");
    rights_each_export(s, t, print_import, &e);
    fprintf(out,
            "            # Keeps the server from answering \"JetStream not enabled\" beside AX.\n"
            "            { service: { account: \"" TEAM_ACCOUNT_AX "\", subject: \"" NOBODY
            "\" }, to: \"" ACCOUNT_INFO "\" }\n");
    fprintf(out, "        ]\n    }\n");
}

static void print_head(FILE *out, const struct setting *s)
{
    char variable[USERS_VARIABLE_MAX_CHARS];
    users_variable(&s->users[0], variable);
    fprintf(out, "# Printed by `ax access`: change what it is told, not this file.\n");
    if (s->private_inbox) {
        char inbox[SUBJECT_INBOX_PREFIX_MAX + 1];
        rights_inbox(s, &s->users[0], inbox, sizeof(inbox));
        fprintf(out,
                "# Inboxes are private: each program is told its own, such as "
                "--inbox-prefix %s.\n",
                inbox);
    }
    if (s->passwords != NULL)
        fprintf(out, "include \"%s\"\n", s->passwords);
    else {
        fprintf(out, "# Passwords come from the server's environment: %s=\"…\" and so on.\n",
                variable);
    }
}

void server_conf_print(FILE *out, const struct setting *s)
{
    print_head(out, s);
    if (s->single) {
        fprintf(out, "authorization {\n");
        print_users(out, s, NULL, 4);
        fprintf(out, "}\n");
        return;
    }
    fprintf(out, "accounts {\n");
    print_ax(out, s);
    for (int i = 0; i < s->team_count; i++)
        print_team(out, s, &s->teams[i]);
    fprintf(out, "}\n");
}
