#include "cli/doctor/diagnosis.h"

#include "cli/doctor/check_daemons.h"
#include "cli/doctor/check_pools.h"
#include "cli/doctor/check_streams.h"

void diagnosis_make(const struct view *v, struct findings *out)
{
    *out = (struct findings){0};
    check_daemons(v, out);
    check_streams(v, out);
    check_pools(v, out);
    findings_sort(out);
}
