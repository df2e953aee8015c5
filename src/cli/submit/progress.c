#include "cli/submit/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/safe_text.h"

#define FIRST_MS 1000
#define EVERY_MS 250
#define NEVER_MS INT64_MAX
#define TEXT_MAX_BYTES 768

void progress_begin(struct progress *p)
{
    *p = (struct progress){.next_ms = isatty(STDERR_FILENO) ? clock_now_ms() + FIRST_MS : NEVER_MS};
}

bool progress_is_due(const struct progress *p)
{
    return p->next_ms != NEVER_MS && clock_now_ms() >= p->next_ms;
}

/* A line that wraps could not be written over. */
static size_t columns(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? (size_t)size.ws_col - 1 : SIZE_MAX;
}

/* Characters, not bytes, count. */
static void cut(char *text, size_t room)
{
    for (; *text != '\0'; text++) {
        if (((unsigned char)*text & 0xC0) == 0x80)
            continue;
        if (room-- == 0) {
            *text = '\0';
            return;
        }
    }
}

/* What ingress says of a full queue may name a group. */
void progress_show(struct progress *p, const char *text)
{
    char safe[SAFE_TEXT_GROWTH * TEXT_MAX_BYTES];
    safe_text(text, strnlen(text, TEXT_MAX_BYTES - 1), SAFE_TEXT_MESSAGE, safe, sizeof(safe));
    cut(safe, columns());
    fprintf(stderr, "\r\x1b[K%s", safe);
    fflush(stderr);
    p->is_shown = true;
    p->next_ms = clock_now_ms() + EVERY_MS;
}

void progress_clear(struct progress *p)
{
    if (p->is_shown)
        fprintf(stderr, "\r\x1b[K");
    p->is_shown = false;
}
