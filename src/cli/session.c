#include "cli/session.h"

#include "task/names.h"

int session_run(struct cli *c, int (*work)(natsConnection *nc, void *arg), void *arg)
{
    natsConnection *nc = cli_connect(c);
    if (nc == NULL)
        return CLI_FAILED;
    int code = work(nc, arg);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}

bool session_check_name(const char *what, const char *name)
{
    if (name == NULL || name_is_valid(name))
        return true;
    say(CLI_USAGE, "%s: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", what, name);
    return false;
}
