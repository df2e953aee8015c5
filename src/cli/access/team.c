#include "cli/access/team.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/quote.h"

struct word {
    const char *start;
    size_t chars;
};

/* The options whose value is one of two words. */
static const struct choice {
    const char *name;
    const char *words[2]; /* off, on */
    size_t offset;
} choices[] = {
    {"workers", {"pool", "team"}, offsetof(struct team, one_worker)},
    {"workers-submit", {"no", "yes"}, offsetof(struct team, workers_submit)},
    {"cancel", {"no", "yes"}, offsetof(struct team, may_cancel)},
};
#define CHOICE_COUNT (sizeof(choices) / sizeof(choices[0]))

static bool is(struct word w, const char *text)
{
    return strlen(text) == w.chars && memcmp(text, w.start, w.chars) == 0;
}

static ax_err refuse_name(const char *what, struct word w, struct problem *p)
{
    char quoted[QUOTE_MAX];
    return problem_set(p, AX_E_INVALID,
                       "--team: %s %s is not a name; allowed are 1 to %d of A-Z a-z 0-9 _ -", what,
                       quote_bytes(w.start, w.chars, quoted), NAME_MAX_CHARS);
}

static ax_err add_name(team_name *list, int *count, int max, const char *what, struct word w,
                       struct problem *p)
{
    if (!name_is_valid_n(w.start, w.chars))
        return refuse_name(what, w, p);
    if (*count == max)
        return problem_set(p, AX_E_INVALID, "--team: more than %d of %s are given", max, what);
    for (int i = 0; i < *count; i++) {
        if (is(w, list[i]))
            return problem_set(p, AX_E_INVALID, "--team: %s %s is given twice", what, list[i]);
    }
    memcpy(list[*count], w.start, w.chars);
    list[(*count)++][w.chars] = '\0';
    return AX_OK;
}

static ax_err set_choice(struct team *t, const struct choice *c, struct word value,
                         struct problem *p)
{
    bool on = is(value, c->words[1]);
    char quoted[QUOTE_MAX];
    if (!on && !is(value, c->words[0])) {
        return problem_set(p, AX_E_INVALID, "--team: %s=%s is not allowed; it must be %s or %s",
                           c->name, quote_bytes(value.start, value.chars, quoted), c->words[0],
                           c->words[1]);
    }
    *(bool *)((char *)t + c->offset) = on;
    return AX_OK;
}

static ax_err take_value(struct team *t, struct word option, struct word value, struct problem *p)
{
    if (is(option, "pools"))
        return add_name(t->pools, &t->pool_count, TEAM_POOLS_MAX, "pool", value, p);
    if (is(option, "priorities")) {
        return add_name(t->priorities, &t->priority_count, TEAM_PRIORITIES_MAX, "priority", value,
                        p);
    }
    for (size_t i = 0; i < CHOICE_COUNT; i++) {
        if (is(option, choices[i].name))
            return set_choice(t, &choices[i], value, p);
    }
    char quoted[QUOTE_MAX];
    return problem_set(p, AX_E_INVALID,
                       "--team: there is no option %s; there are pools, priorities, workers, "
                       "workers-submit, cancel",
                       quote_bytes(option.start, option.chars, quoted));
}

/* The values of an option follow one another with commas, and so do the options: a part with "="
 * begins the next option, one without is another value of the last. */
static ax_err take_options(struct team *t, const char *at, struct problem *p)
{
    struct word option = {NULL, 0};
    for (;;) {
        struct word value = {at, strcspn(at, ",")};
        const char *equals = memchr(at, '=', value.chars);
        if (equals != NULL) {
            option = (struct word){at, (size_t)(equals - at)};
            value = (struct word){equals + 1, value.chars - option.chars - 1};
        }
        if (option.start == NULL)
            return problem_set(p, AX_E_INVALID, "--team: behind the name and : must be pools=…");
        ax_err err = take_value(t, option, value, p);
        if (err != AX_OK)
            return err;
        at = value.start + value.chars;
        if (*at == '\0')
            return AX_OK;
        at++;
    }
}

ax_err team_parse(struct team *t, const char *text, struct problem *p)
{
    *t = (struct team){0};
    struct word name = {text, strcspn(text, ":")};
    if (!name_is_valid_n(name.start, name.chars) || !isalpha((unsigned char)text[0])) {
        char quoted[QUOTE_MAX];
        return problem_set(p, AX_E_INVALID,
                           "--team: %s is not a team's name; it must have 1 to %d of A-Z a-z 0-9 "
                           "_ -, the first a letter, such as in mail:pools=email,newsletter",
                           quote_bytes(name.start, name.chars, quoted), NAME_MAX_CHARS);
    }
    memcpy(t->name, name.start, name.chars);
    if (strcasecmp(t->name, TEAM_ACCOUNT_AX) == 0) {
        return problem_set(p, AX_E_INVALID,
                           "--team: %s is the name of AX's own account; give "
                           "the team another one",
                           t->name);
    }
    ax_err err = AX_OK;
    if (text[name.chars] == ':')
        err = take_options(t, text + name.chars + 1, p);
    if (err == AX_OK && t->pool_count == 0)
        err = problem_set(p, AX_E_INVALID, "--team: %s has no pools; give pools=…", t->name);
    return err;
}

static ax_err check_pools(const struct team *a, const struct team *b, struct problem *p)
{
    for (int i = 0; i < a->pool_count; i++) {
        for (int j = 0; j < b->pool_count; j++) {
            if (strcmp(a->pools[i], b->pools[j]) == 0) {
                return problem_set(p, AX_E_INVALID,
                                   "--team: pool %s is given to %s and to %s; a pool belongs to "
                                   "one team",
                                   a->pools[i], a->name, b->name);
            }
        }
    }
    return AX_OK;
}

ax_err team_check_apart(const struct team *teams, int count, struct problem *p)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++) {
            if (strcasecmp(teams[i].name, teams[j].name) == 0)
                return problem_set(p, AX_E_INVALID, "--team: %s is given twice", teams[i].name);
            ax_err err = check_pools(&teams[j], &teams[i], p);
            if (err != AX_OK)
                return err;
        }
    }
    return AX_OK;
}
