#include "base/moves.h"

#include <string.h>

static bool is_of(const struct move *row, unsigned state, unsigned event)
{
    return row->from == state && row->event == event;
}

/* Rows for any state first, then those of one state on top of them. */
static void index_rows(struct moves *m)
{
    unsigned last = m->states.count - 1;
    memset(m->index, 0, m->states.count * m->events.count * sizeof(m->index[0]));
    for (size_t i = m->count; i-- > 0;) {
        const struct move *row = &m->rows[i];
        for (unsigned s = 0; row->from == MOVES_ANY && s < last; s++)
            m->index[s * m->events.count + row->event] = (uint16_t)(i + 1);
    }
    for (size_t i = m->count; i-- > 0;) {
        const struct move *row = &m->rows[i];
        if (row->from != MOVES_ANY)
            m->index[row->from * m->events.count + row->event] = (uint16_t)(i + 1);
    }
    m->indexed = true;
}

const struct move *moves_find(struct moves *m, unsigned state, unsigned event, const void *facts)
{
    if (state >= m->states.count || event >= m->events.count)
        return NULL;
    if (!m->indexed)
        index_rows(m);
    size_t i = m->index[state * m->events.count + event];
    if (i == 0)
        return NULL;
    const struct move *row = &m->rows[--i];
    for (unsigned from = row->from; i < m->count && is_of(row, from, event); row = &m->rows[++i]) {
        if (row->when == 0 || m->holds(row->when, facts))
            return row;
    }
    return NULL;
}

void moves_print(const struct moves *m, FILE *out)
{
    fprintf(out, "| state | event | when | next | does | rule |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < m->count; i++) {
        const struct move *row = &m->rows[i];
        fprintf(out, "| %s | %s | %s | %s | %s | ",
                row->from == MOVES_ANY ? "any" : m->states.texts[row->from],
                m->events.texts[row->event], m->conditions.texts[row->when],
                row->to == MOVES_STAY ? "same" : m->states.texts[row->to],
                m->actions.texts[row->action]);
        if (row->rule != 0)
            fprintf(out, "%d ", row->rule);
        fprintf(out, "|\n");
    }
}

static bool is_in_range(const struct moves *m, const struct move *row)
{
    return (row->from < m->states.count || row->from == MOVES_ANY) &&
           (row->to < m->states.count || row->to == MOVES_STAY) && row->event < m->events.count &&
           row->when < m->conditions.count && row->action < m->actions.count;
}

ax_err moves_check(const struct moves *m, size_t *row)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct move *r = &m->rows[i];
        *row = i;
        if (!is_in_range(m, r) || r->from == m->states.count - 1)
            return AX_E_INVALID;
        for (size_t j = 0; j < i; j++) {
            bool same = is_of(&m->rows[j], r->from, r->event);
            bool together = is_of(&m->rows[i - 1], r->from, r->event);
            if (same && (!together || m->rows[j].when == 0 || m->rows[j].when == r->when))
                return AX_E_INVALID;
        }
    }
    return AX_OK;
}
