#include "task/peer/instance.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "task/names.h"

#define HOST_CHARS 24

bool instance_is_valid(const char *name)
{
    size_t n = strlen(name);
    if (n < 1 || n > INSTANCE_MAX_CHARS)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    }
    return true;
}

void instance_new(char out[INSTANCE_MAX_CHARS + 1])
{
    char host[HOST_CHARS + 1] = "", id[TASK_ID_CHARS + 1];
    if (gethostname(host, sizeof(host)) != 0 || host[0] == '\0')
        strcpy(host, "host");
    host[HOST_CHARS] = '\0';
    for (char *c = host; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c))
            *c = '-';
    }
    name_new_id(id);
    snprintf(out, INSTANCE_MAX_CHARS + 1, "%s-%ld-%.22s", host, (long)getpid(), id);
}
