/* How `ax up` sets up its nats-server for what AX does with it. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/up/up.h"

extern char **environ;

bool up_write_server_conf(const char *store)
{
    /* Every task has subjects of its own: a cache of who listens to which is written and never read
     * again. */
    static const char text[] = "# written by `ax up` at every start\ndisable_sublist_cache: true\n";
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/" UP_SERVER_CONF, store);
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    bool right = fputs(text, f) >= 0;
    return fclose(f) == 0 && right;
}

/* Memory this process may have: the machine's, or less by its control group. */
static int64_t memory_bytes(void)
{
    int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
    if (f && fscanf(f, "%" SCNd64, &limit) == 1 && limit > 0 && limit < all)
        all = limit;
    if (f)
        fclose(f);
    return all;
}

char **up_server_environment(struct server_block *b)
{
    /* Go collects when the heap has grown by so many percent; less often costs memory, so from half
     * of what there is on it collects as often as it must. */
    static char collect[] = "GOGC=400";
    size_t count = 0;
    while (environ[count])
        count++;
    b->entries = calloc(count + 3, sizeof(*b->entries));
    if (!b->entries)
        return NULL;
    memcpy(b->entries, environ, count * sizeof(*b->entries));
    if (getenv("GOGC") || getenv("GOMEMLIMIT"))
        return b->entries;
    snprintf(b->memory, sizeof(b->memory), "GOMEMLIMIT=%" PRId64, memory_bytes() / 2);
    b->entries[count] = collect;
    b->entries[count + 1] = b->memory;
    return b->entries;
}
