/* Tables of moves. What a thing with states does is written as one constant table: in this state,
 * on this event, if this condition holds, go to that state and do that. The table is looked up when
 * the program runs, printed into the docs, and walked by unit tests, so the three cannot differ.
 *
 * Pure. A table is indexed when it is used first; after that any thread may read it. */
#ifndef AX_BASE_MOVES_H
#define AX_BASE_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* from: every state but the last one, and that has no row of its own for the event. */
#define MOVES_ANY 254
/* to: the state stays as it is. */
#define MOVES_STAY 255

/* One row. Numbers are those of the owner's enums. */
struct move {
    uint8_t from;   /* state, or MOVES_ANY */
    uint8_t event;  /* what came */
    uint8_t when;   /* condition; 0: always */
    uint8_t to;     /* state, or MOVES_STAY */
    uint8_t action; /* what to do now */
    uint8_t rule;   /* of docs/design/attempts.md, that the row keeps; 0: none */
};

/* What the numbers are called: count texts, all static. */
struct move_words {
    const char *const *texts;
    unsigned count;
};

struct moves {
    const char *name; /* one word, for the docs' markers */
    /* Rows of the same state and event stand together. The first one whose condition holds is the
     * move. */
    const struct move *rows;
    size_t count;
    /* The last state is the end, where nothing more is done. Condition 0 and action 0 are printed
     * as nothing. */
    struct move_words states, events, conditions, actions;
    /* Does condition (never 0) hold for the owner's facts? */
    bool (*holds)(unsigned condition, const void *facts);
    /* states x events, owned by the owner of the table, zeroed: first row of each pair plus 1 */
    uint16_t *index;
    bool indexed;
};

/* The move for state and event, in O(1) and the number of conditions of that pair. NULL: there is
 * none. Numbers out of range have none. */
const struct move *moves_find(struct moves *m, unsigned state, unsigned event, const void *facts);

/* Writes the table as Markdown. */
void moves_print(const struct moves *m, FILE *out);

/* Is the table well formed? AX_E_INVALID when a number is out of range, rows of one state and event
 * do not stand together, or a row can never be reached: *row says which. */
ax_err moves_check(const struct moves *m, size_t *row);

#endif
