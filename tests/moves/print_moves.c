/* Prints a table of moves as Markdown: print_moves NAME. Without an argument: the names. The docs
 * hold the tables as printed here (tests/moves/docs.py). */
#include <stdio.h>
#include <string.h>

#include "dispatch/attempt/attempt_moves.h"
#include "ingress/feed/feed_moves.h"
#include "ingress/feed/firing_moves.h"
#include "ingress/submit/submission_moves.h"

/* ---- dispatch's table has a form of its own: sets of states, several actions a row */

static void print_facts(const char *before, unsigned facts, const char *between)
{
    for (unsigned bit = 0; bit < ATTEMPT_FACT_COUNT; bit++) {
        if ((facts & (1u << bit)) != 0) {
            printf("%s%s", before, attempt_fact_text(bit));
            before = between;
        }
    }
}

static void print_attempt_row(const struct attempt_move *row)
{
    const char *before = "| ";
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
        if ((row->from & (1ULL << s)) != 0) {
            printf("%s%s", before, attempt_state_name((enum attempt_state)s));
            before = ", ";
        }
    }
    printf(" | %s | ", attempt_event_text(row->on));
    print_facts("", row->any, "; or ");
    print_facts(row->any != 0 ? "; not: " : "not: ", row->none, "; nor: ");
    printf(" | %s | ", row->to == ATTEMPT_STATE_COUNT ? "same" : attempt_state_name(row->to));
    before = "";
    for (int i = 0; i < ATTEMPT_MOVE_ACTIONS && row->actions[i] != ATTEMPT_DO_NOTHING; i++) {
        printf("%s%s", before, attempt_action_text((enum attempt_action)row->actions[i]));
        before = "; ";
    }
    printf(row->rule != 0 ? " | %d |\n" : " | |\n", row->rule);
}

static void print_attempt(void)
{
    size_t count;
    const struct attempt_move *rows = attempt_moves(&count);
    printf("| state | event | when | next | does | rule |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        print_attempt_row(&rows[i]);
}

/* ---- all others */

static struct moves *(*const tables[])(void) = {
    submission_moves_table,
    feed_moves_table,
    firing_moves_table,
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

int main(int argc, char **argv)
{
    for (size_t i = 0; i < TABLES; i++) {
        const struct moves *m = tables[i]();
        if (argc < 2)
            printf("%s\n", m->name);
        else if (strcmp(argv[1], m->name) == 0)
            moves_print(m, stdout);
    }
    if (argc < 2)
        printf("attempt\n");
    else if (strcmp(argv[1], "attempt") == 0)
        print_attempt();
    return 0;
}
