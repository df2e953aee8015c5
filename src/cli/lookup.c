#include "cli/lookup.h"

#include "cli/args.h"
#include "cli/session.h"
#include "task/names.h"

int lookup_parse(struct cli *c, struct lookup *l, bool is_optional, const char *json_help)
{
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &l->pool, 0, 0, "NAME",
         "the key's pool (default: `default`; an id is looked for in all)"},
        {"json", FLAG_BOOL, &l->json, 0, 0, NULL, json_help},
    };
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), is_optional ? 0 : 1, 1);
    if (code >= 0)
        return code;
    l->text = c->argc > 0 ? c->argv[0] : NULL;
    return session_check_name("--pool", l->pool) ? -1 : CLI_USAGE;
}

int lookup_unknown(const struct lookup *l)
{
    return say(CLI_FAILED, "%s: unknown: no task of that key (pool %s) or id in AX's streams",
               l->text, l->pool != NULL ? l->pool : DEFAULT_POOL);
}
