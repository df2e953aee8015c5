#include "ingress/later_flaw.h"

#include <string.h>

static const char *header(natsMsg *msg, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, name, &value) == NATS_OK ? value : NULL;
}

enum later_flaw later_flaw_of(const char *subject, natsMsg *msg, struct task_subject *out)
{
    char target[SUBJECT_MAX_CHARS];
    memset(out, 0, sizeof(*out));
    if (!name_parse_task_subject(subject, out) ||
        (strcmp(out->stage, "later") != 0 && strcmp(out->stage, "due") != 0)) {
        memset(out, 0, sizeof(*out));
        return LATER_FLAW_SUBJECT;
    }
    if (strcmp(out->stage, "due") == 0)
        return LATER_FLAW_NONE;
    const char *schedule = header(msg, HDR_SCHEDULE);
    if (schedule == NULL || schedule[0] == '\0')
        return LATER_FLAW_SCHEDULE;
    const char *given = header(msg, HDR_SCHEDULE_TARGET);
    name_subject(target, "due", out->priority, out->pool, out->id);
    return given != NULL && strcmp(given, target) == 0 ? LATER_FLAW_NONE : LATER_FLAW_TARGET;
}

const char *later_flaw_text(enum later_flaw flaw)
{
    static const char *const texts[] = {
#define X(name, text) text,
        LATER_FLAWS(X)
#undef X
    };
    return texts[flaw];
}
