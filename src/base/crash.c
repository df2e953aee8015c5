#include "base/crash.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define UNREAD_MS 500

static char last_word[160];

/* Calls only what a signal handler may call. Returning repeats the fault, which then has its
 * default action, core file included. */
static void on_crash(int number)
{
    log_flush();
    if (poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, UNREAD_MS) != 1)
        return; /* nobody reads it */
    char digits[2] = {(char)('0' + number / 10 % 10), (char)('0' + number % 10)};
    ssize_t n = write(STDERR_FILENO, last_word, strlen(last_word));
    n = n < 0 ? n : write(STDERR_FILENO, digits, sizeof(digits));
    n = n < 0 ? n : write(STDERR_FILENO, "\n", 1);
    (void)n;
}

void crash_init(const char *program)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT};
    snprintf(last_word, sizeof(last_word),
             "level=error program=%s msg=\"crashed\" signal=", program);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction now, ours = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
        if (sigaction(signals[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
            now.sa_handler == SIG_DFL)
            sigaction(signals[i], &ours, NULL);
    }
}
