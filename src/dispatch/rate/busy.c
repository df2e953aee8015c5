#include "dispatch/rate/busy.h"

double busy_ratio(int64_t with_workers, int64_t open)
{
    with_workers = with_workers > 0 ? with_workers : 0;
    open = open > 0 ? open : 0;
    return with_workers + open > 0 ? (double)with_workers / (double)(with_workers + open) : -1;
}
