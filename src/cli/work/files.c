#include "cli/work/files.h"

#include <sys/resource.h>
#include <unistd.h>

#define FILES_MAX 65536

void files_close_from(int first)
{
    struct rlimit most = {.rlim_cur = FILES_MAX};
    if (close_range((unsigned)first, ~0U, 0) == 0)
        return;
    /* A kernel before 5.9. */
    getrlimit(RLIMIT_NOFILE, &most);
    for (int fd = first; fd < FILES_MAX && (rlim_t)fd < most.rlim_cur; fd++)
        close(fd);
}
