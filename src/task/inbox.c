#include "task/inbox.h"

#include <stdio.h>
#include <string.h>

#include "task/names.h"

_Static_assert(INBOX_UNIQUE_CHARS == KEYLESS_ID_CHARS, "both are made by name_new_id");

/* As in nats-server's gateway.go: two hashes follow the prefix. */
#define GATEWAY_PREFIX "_GR_."
#define GATEWAY_HASH_CHARS 6
#define GATEWAY_PREFIX_CHARS (sizeof(GATEWAY_PREFIX) - 1)
#define GATEWAY_REPLY_AT (GATEWAY_PREFIX_CHARS + 2 * (GATEWAY_HASH_CHARS + 1))

static const char *own_prefix = INBOX_PREFIX;

void inbox_use_prefix(const char *prefix)
{
    own_prefix = prefix != NULL ? prefix : INBOX_PREFIX;
}

const char *inbox_new(char buf[INBOX_MAX])
{
    char id[TASK_ID_CHARS + 1];
    name_new_id(id);
    snprintf(buf, INBOX_MAX, "%s.%s", own_prefix, id);
    return buf;
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* arg: the reply subject. True: it does not begin with this prefix. */
static bool is_elsewhere(void *arg, const char *prefix, size_t chars)
{
    const char *reply = arg;
    return chars == 0 || strncmp(reply, prefix, chars) != 0 || reply[chars] != '.';
}

/* A reply that came through a gateway, without what the gateway put before it. */
static const char *beyond_gateway(const char *reply)
{
    if (!begins(reply, GATEWAY_PREFIX) || strlen(reply) <= GATEWAY_REPLY_AT)
        return reply;
    const char *hash = reply + GATEWAY_PREFIX_CHARS;
    bool is_gateways = hash[GATEWAY_HASH_CHARS] == '.' && reply[GATEWAY_REPLY_AT - 1] == '.';
    return is_gateways ? reply + GATEWAY_REPLY_AT : reply;
}

bool inbox_is_answerable(const char *reply, const char *prefixes)
{
    size_t chars = strnlen(reply, INBOX_REPLY_MAX_CHARS + 1);
    if (chars > INBOX_REPLY_MAX_CHARS || !subject_is_plain(reply, chars))
        return false;
    const char *inbox = beyond_gateway(reply);
    if (begins(inbox, INBOX_PREFIX ".") || begins(inbox, "_R_."))
        return true;
    return prefixes != NULL && !subject_list_each(prefixes, is_elsewhere, (void *)inbox);
}
