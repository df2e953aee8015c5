#include "base/random.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"

/* So many characters of a name come from one number: 62^8 is far enough below 2^64 that each of
 * them is as likely as any other. */
#define CHARS_A_NUMBER 8

static void fill(void *out, size_t bytes)
{
    if (getrandom(out, bytes, 0) != (ssize_t)bytes) {
        log_error("the kernel gives no random numbers", NULL);
        abort();
    }
}

uint64_t random_u64(void)
{
    uint64_t number;
    fill(&number, sizeof(number));
    return number;
}

void random_name(char *out, int chars)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t numbers[RANDOM_NAME_MAX_CHARS / CHARS_A_NUMBER];
    fill(numbers, sizeof(numbers));
    for (int i = 0; i < chars; i++) {
        uint64_t *number = &numbers[i / CHARS_A_NUMBER];
        out[i] = letters[*number % (sizeof(letters) - 1)];
        *number /= sizeof(letters) - 1;
    }
    out[chars] = '\0';
}
