#include "cli/submit/answer_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "task/names.h"

#define RETRY_IN "retry in "

static const struct {
    const char *header, *flag;
} names[] = {
    {HDR_MSG_ID, "--key"},      {HDR_MAX_RETRY, "--max-retry"},
    {HDR_BACKOFF, "--backoff"}, {HDR_DELAY, "--delay"},
    {HDR_AT, "--at"},           {HDR_EXPIRES, "--expires"},
    {HDR_CRON, "--cron"},       {HDR_TIME_ZONE, "--time-zone"},
    {HDR_OVERLAP, "--overlap"}, {HDR_TIMEOUT, "--timeout"},
    {HDR_GROUP, "--group"},     {HDR_ORDERED, "--ordered"},
};

static bool is_part_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '-';
}

/* The flag in place of the header that text begins with, and how long that is; NULL: none. */
static const char *flag_at(const char *text, size_t *bytes)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *bytes = strlen(names[i].header);
        if (strncmp(text, names[i].header, *bytes) == 0 && !is_part_of_name(text[*bytes]))
            return names[i].flag;
    }
    return NULL;
}

/* "retry in 60s" in place of "retry in 60000ms"; how long that is, 0: text does not begin so. */
static size_t wait_at(const char *text, char wait[64])
{
    char span[32], *end;
    if (strncmp(text, RETRY_IN, sizeof(RETRY_IN) - 1) != 0)
        return 0;
    long long ms = strtoll(text + sizeof(RETRY_IN) - 1, &end, 10);
    if (strncmp(end, "ms", 2) != 0 || ms < 0 || ms > INT64_MAX / 1000000)
        return 0;
    snprintf(wait, 64, RETRY_IN "%s", output_seconds((int64_t)ms * 1000000, span));
    return (size_t)(end - text) + 2;
}

/* "pool: …" and "priority: …" begin an answer: what the subject names was given as a flag, too. */
static const char *dashes(const char *text)
{
    bool is_flag = strncmp(text, "pool: ", 6) == 0 || strncmp(text, "priority: ", 10) == 0;
    return is_flag ? "--" : "";
}

void answer_text_for_people(const char *text, char *out, size_t cap)
{
    size_t used = (size_t)snprintf(out, cap, "%s", dashes(text));
    bool in_name = false;
    while (*text != '\0' && used + 1 < cap) {
        char wait[64];
        size_t bytes = 0;
        const char *said = in_name ? NULL : flag_at(text, &bytes);
        if (said == NULL && !in_name && (bytes = wait_at(text, wait)) > 0)
            said = wait;
        in_name = is_part_of_name(*text);
        if (said != NULL) {
            used += (size_t)snprintf(out + used, cap - used, "%s", said);
            text += bytes;
            continue;
        }
        out[used++] = *text++;
        out[used] = '\0';
    }
}
