#include "cli/verb.h"

#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"

const void *verb_find(const char *name, const void *rows, size_t count, size_t row_bytes)
{
    for (size_t i = 0; i < count; i++) {
        const void *row = (const char *)rows + i * row_bytes;
        if (strcmp(name, *(const char *const *)row) == 0)
            return row;
    }
    return NULL;
}

/* What other programs call it. */
static const struct {
    const char *name, *verb;
} aliases[] = {
    {"list", "ls"},        {"delete", "rm"},    {"remove", "rm"},       {"del", "rm"},
    {"delete", "drop"},    {"remove", "drop"},  {"del", "drop"},        {"rm", "drop"},
    {"info", "show"},      {"get", "show"},     {"view", "show"},       {"describe", "show"},
    {"create", "add"},     {"new", "add"},      {"update", "set"},      {"edit", "set"},
    {"run", "run-now"},    {"fire", "run-now"}, {"trigger", "run-now"}, {"start", "resume"},
    {"unpause", "resume"}, {"stop", "pause"},   {"requeue", "retry"},   {"replay", "retry"},
};

static void offer_alias(struct nearest *n, const char *verb)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcmp(aliases[i].name, n->word) == 0 && strcmp(aliases[i].verb, verb) == 0) {
            n->found = verb;
            n->distance = 0;
        }
    }
}

int verb_unknown(const struct cli *c, const char *name, const void *rows, size_t count,
                 size_t row_bytes)
{
    struct nearest near = {.word = name};
    char all[128] = "", hint[64];
    for (size_t i = 0; i < count; i++) {
        const char *verb = *(const char *const *)((const char *)rows + i * row_bytes);
        size_t used = strlen(all);
        snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", verb);
        nearest_offer(&near, verb);
        offer_alias(&near, verb);
    }
    return say(CLI_USAGE, "%s %.64s: there is no such verb%s; allowed are %s", c->command->name,
               name, nearest_text(&near, "", hint, sizeof(hint)), all);
}
