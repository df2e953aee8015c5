#include "ingress/queue/share.h"

#include <math.h>
#include <stdlib.h>

static int by_part(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    double x = a->would_hold / a->weight, y = b->would_hold / b->weight;
    return (x > y) - (x < y);
}

double share_level(struct share *list, size_t n, double bound)
{
    double left = bound, weight = 0;
    if (n > 0)
        qsort(list, n, sizeof(*list), by_part);
    for (size_t i = 0; i < n; i++)
        weight += list[i].weight;
    for (size_t i = 0; i < n; i++) {
        double level = left > 0 ? left / weight : 0;
        if (list[i].would_hold > level * list[i].weight)
            return level;
        left -= list[i].would_hold;
        weight -= list[i].weight;
    }
    return INFINITY;
}
