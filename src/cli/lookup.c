#include "cli/lookup.h"

#include "cli/args.h"
#include "cli/session.h"
#include "cli/streams/pool.h"

int lookup_parse(struct cli *c, struct lookup *l, bool is_optional, const char *json_help)
{
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &l->pool, 0, 0, "NAME",
         "the task's pool (default: all, `default` first)"},
        {"json", FLAG_BOOL, &l->json, 0, 0, NULL, json_help},
    };
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), is_optional ? 0 : 1, 1);
    if (code >= 0)
        return code;
    l->text = c->argc > 0 ? c->argv[0] : NULL;
    return session_check_name("--pool", l->pool) ? -1 : CLI_USAGE;
}

int lookup_unknown(natsConnection *nc, const struct lookup *l)
{
    struct problem p = {0};
    if (l->pool == NULL) {
        return say(CLI_FAILED, "%s: unknown: no task of that key in any pool, nor of that id",
                   l->text);
    }
    if (pool_check_exists(nc, l->pool, &p) == AX_E_NOT_FOUND)
        return say(CLI_FAILED, "%s: unknown: %s", l->text, p.text);
    return say(CLI_FAILED, "%s: unknown: no task of that key or id in pool %s", l->text, l->pool);
}
