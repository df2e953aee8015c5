/* Every parser of subjects; what is understood must come out the same when built again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/ack.h"
#include "bus/pull.h"
#include "check.h"
#include "task/names.h"

static void try_task(const char *subject)
{
    struct task_subject s;
    char built[SUBJECT_MAX_CHARS];
    if (!name_parse_task_subject(subject, &s)) {
        return;
    }
    if (*s.priority) {
        name_subject(built, s.stage, s.priority, s.pool, s.id);
    } else if (strcmp(s.stage, "work") == 0) {
        name_subject_work(built, s.pool, s.id);
    } else {
        name_subject_dead(built, s.pool, s.id);
    }
    CHECK(strcmp(built, subject) == 0);
}

static void try_submit(const char *subject)
{
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    struct problem p = {0};
    if (name_parse_submit(subject, priority, pool, &p) == AX_OK) {
        CHECK(name_is_valid(priority) && name_is_valid(pool));
    } else {
        CHECK(p.err == AX_E_INVALID && p.text[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *subject = strndup(size ? (const char *)data : "", size);
    if (!subject) {
        return 0;
    }
    char pool[NAME_MAX_CHARS + 1];
    struct ack_subject ack;
    try_task(subject);
    try_submit(subject);
    CHECK(!pull_parse_subject(subject, pool) || name_is_valid(pool));
    (void)ack_parse_subject(subject, &ack);
    free(subject);
    return 0;
}
