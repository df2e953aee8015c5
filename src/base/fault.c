#include "base/fault.h"

#ifdef AX_FAULTS

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern struct fault_point *__start_ax_fault_points[] __attribute__((weak));
extern struct fault_point *__stop_ax_fault_points[] __attribute__((weak));

/* Several threads that pass points at the same moment may be miscounted: that is good enough for
 * a test that kills the process anyway. */
static char armed[64];
static unsigned long nth = 1;

static void list_points(void)
{
    for (struct fault_point **p = __start_ax_fault_points; p < __stop_ax_fault_points; p++)
        printf("%s\n", (*p)->name);
}

static void arm(const char *text)
{
    const char *colon = strchr(text, ':');
    size_t n = colon != NULL ? (size_t)(colon - text) : strlen(text);
    snprintf(armed, sizeof(armed), "%.*s", (int)n, text);
    if (colon != NULL)
        nth = strtoul(colon + 1, NULL, 10);
    for (struct fault_point **p = __start_ax_fault_points; p < __stop_ax_fault_points; p++) {
        if (strcmp((*p)->name, armed) == 0)
            return;
    }
    fprintf(stderr, "AX_FAULT: there is no fault point %s here; see --fault-points\n", armed);
    exit(2);
}

/* Before main, so that no program needs a line for it. */
__attribute__((constructor)) static void start(int argc, char **argv)
{
    const char *text = getenv("AX_FAULT");
    if (argc == 2 && strcmp(argv[1], "--fault-points") == 0) {
        list_points();
        exit(0);
    }
    if (text != NULL && *text != '\0')
        arm(text);
}

void fault_pass(struct fault_point *p, void (*flush)(void *arg), void *arg)
{
    if (armed[0] == '\0' || strcmp(p->name, armed) != 0 || ++p->passed < nth)
        return;
    if (flush != NULL)
        flush(arg);
    raise(SIGKILL);
}

#endif
