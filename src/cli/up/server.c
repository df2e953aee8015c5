#include "cli/up/server.h"

#include <glob.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/environment.h"
#include "cli/store/store_file.h"
#include "cli/store/token.h"

ax_err server_write_conf(const struct store *s, const char *token, struct problem *p)
{
    /* Every task has subjects of its own: a cache of who subscribes to which subject would be
     * written and never read again. */
    static const char text[] = "# written by `ax up` at every start\ndisable_sublist_cache: true\n";
    char conf[sizeof(text) + TOKEN_MAX_CHARS + 64];
    /* Here and not on the command line, which others can read. */
    snprintf(conf, sizeof(conf), "%s%s%s%s", text, token != NULL ? "authorization { token: \"" : "",
             token != NULL ? token : "", token != NULL ? "\" }\n" : "");
    ax_err err = store_file_write(s, SERVER_CONF, conf, p);
    explicit_bzero(conf, sizeof(conf));
    return err;
}

/* Memory this process may have: the machine's, or less by its control group. */
static int64_t memory_bytes(void)
{
    int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
    if (f != NULL && fscanf(f, "%" SCNd64, &limit) == 1 && limit > 0 && limit < all)
        all = limit;
    if (f != NULL)
        fclose(f);
    return all;
}

char **server_environment(void)
{
    /* Go collects garbage when the heap has grown by so many percent. Doing so less often costs
     * memory, so from half of the memory on it collects as often as it must. */
    char limit[32];
    snprintf(limit, sizeof(limit), "%" PRId64, memory_bytes() / 2);
    const struct environment_variable collector[] = {{"GOGC", "400"}, {"GOMEMLIMIT", limit}};
    bool is_set = getenv("GOGC") != NULL || getenv("GOMEMLIMIT") != NULL;
    return environment_with(collector, is_set ? 0 : sizeof(collector) / sizeof(collector[0]));
}

bool server_args(struct child *c, const char *store, const char *host, int port,
                 bool writes_ports_file)
{
    child_clear_args(c);
    bool right = child_arg(c, "-c") && child_arg(c, "%s/" SERVER_CONF, store) &&
                 child_arg(c, "-js") && child_arg(c, "-sd") && child_arg(c, "%s", store) &&
                 child_arg(c, "-a") && child_arg(c, "%s", host) && child_arg(c, "-p") &&
                 child_arg(c, "%d", port > 0 ? port : -1);
    return right &&
           (!writes_ports_file || (child_arg(c, "--ports_file_dir") && child_arg(c, "%s", store)));
}

void server_drop_ports_files(const char *store)
{
    char pattern[PATH_MAX + 32];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/nats-server_*.ports", store);
    if (glob(pattern, GLOB_NOESCAPE, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
}

int server_port(const char *store, pid_t pid)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/nats-server_%d.ports", store, (int)pid);
    json_t *root = json_load_file(path, 0, NULL); /* NULL as well while it is half written */
    const char *url = json_string_value(json_array_get(json_object_get(root, "nats"), 0));
    const char *colon = url != NULL ? strrchr(url, ':') : NULL;
    int port = colon != NULL ? atoi(colon + 1) : 0;
    json_decref(root);
    return port;
}
