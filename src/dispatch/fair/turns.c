#include "dispatch/fair/turns.h"

#include <stddef.h>
#include <utlist.h>

static struct turn **ring_of(struct turns *ts, const struct turn *t)
{
    return t->credit > 0 ? &ts->ahead : &ts->head;
}

static void put(struct turn **ring, struct turn *t)
{
    t->left = 0;
    CDL_APPEND(*ring, t);
}

static void cut(struct turn **ring, struct turn *t)
{
    CDL_DELETE(*ring, t);
    t->prev = t->next = NULL;
}

void turns_add(struct turns *ts, struct turn *t)
{
    if (t->next != NULL)
        return;
    if (!t->known)
        t->credit = TURNS_CREDIT * t->weight;
    t->known = true;
    put(ring_of(ts, t), t);
}

void turns_remove(struct turns *ts, struct turn *t)
{
    if (t->next != NULL)
        cut(ring_of(ts, t), t);
}

struct turn *turns_next(const struct turns *ts)
{
    bool others = ts->ahead == NULL || (ts->head != NULL && ts->since >= TURNS_AHEAD);
    return others ? ts->head : ts->ahead;
}

void turns_take(struct turns *ts, struct turn *t)
{
    struct turn **ring = ring_of(ts, t);
    if (t->left <= 0)
        t->left += t->weight; /* its round begins */
    t->left--;
    if (t->credit == 0) {
        ts->since = 0;
    } else {
        ts->since += ts->since < TURNS_AHEAD;
        if (t->credit == 1) {
            cut(ring, t);
            t->credit = 0;
            put(&ts->head, t);
            return;
        }
        t->credit--;
    }
    if (t->left <= 0 && *ring == t)
        *ring = t->next;
}
