#include "cli/find_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "cli/store/store.h"
#include "cli/store/store_file.h"

#define URL_MAX 512

/* Given by a flag, and not by the variable. */
static bool is_from_flag(const char *value, const char *variable)
{
    const char *set = getenv(variable);
    return value != NULL && (set == NULL || strcmp(set, value) != 0);
}

static ax_err read_url(struct options *o, const char *given, struct problem *p)
{
    struct store s;
    char url[URL_MAX];
    ax_err err = store_look(given, &s, p);
    if (err == AX_OK)
        err = store_file_read_secret(&s, STORE_URL, url, sizeof(url), p);
    if (err == AX_OK && (o->server = secret_keep(url)) == NULL)
        err = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    explicit_bzero(url, sizeof(url));
    store_close(&s);
    return err;
}

ax_err find_server(struct options *o, struct problem *p)
{
    bool server_flag = is_from_flag(o->server, "NATS_URL");
    bool store_flag = is_from_flag(o->store, "AX_STORE");
    if (server_flag && store_flag)
        return problem_set(p, AX_E_INVALID, "--server and --store: only one of them is allowed");
    if (o->server != NULL && !store_flag)
        return AX_OK;
    if (o->store != NULL)
        return read_url(o, o->store, p);
    bool has_credentials = o->user != NULL || o->creds != NULL || o->password_file != NULL;
    if (!has_credentials)
        read_url(o, NULL, NULL); /* most often there is none */
    return AX_OK;
}
