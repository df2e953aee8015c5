/* Whose turn it is among those that wait: deficit round robin (M. Shreedhar and G. Varghese,
 * "Efficient Fair Queuing Using Deficit Round-Robin", IEEE/ACM Transactions on Networking 4(3),
 * 1996). Every task costs 1 and a quantum is the weight, so a turn is O(1), and over any stretch in
 * which two wait all the time they have turns in proportion to their weights.
 *
 * Plain round robin makes a newcomer with a few tasks wait as often as one that has had thousands
 * of turns. So newcomers go first, as in FQ-CoDel (T. Høiland-Jørgensen et al., RFC 8290, 2018): in
 * a round robin of their own, until they have had TURNS_CREDIT quanta. Every fourth turn goes to
 * the others while some wait. A newcomer that stops waiting keeps the rest of its credit; it gets
 * new credit only when it is forgotten and made anew. Pure. */
#ifndef AX_DISPATCH_FAIR_TURNS_H
#define AX_DISPATCH_FAIR_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#define TURNS_CREDIT 32
#define TURNS_AHEAD 3 /* turns of newcomers for each turn of the others, while both wait */

/* Zero-initialise all but the weight: that makes a newcomer. */
struct turn {
    struct turn *prev, *next; /* in a ring; NULL: in none */
    int32_t weight;           /* >= 1; a change counts from its next round on */
    int32_t left;             /* the deficit counter: turns left of this round */
    int32_t credit;           /* turns for which it goes first; > 0: it is in the ring `ahead` */
    bool known;               /* credit was given */
};

/* Zero-initialise. */
struct turns {
    /* Two rings, newcomers with credit and the others; each points to the one whose round it is.
     * NULL: none waits. */
    struct turn *ahead, *head;
    int32_t since; /* turns of newcomers since the others had one, at most TURNS_AHEAD */
};

/* t (borrowed until it is removed) waits: puts it at the end of its ring. No-op if it is in one. */
void turns_add(struct turns *ts, struct turn *t);
/* t does not wait any more. No-op if it is in no ring. */
void turns_remove(struct turns *ts, struct turn *t);
/* Whose turn it is, without taking it; NULL: none waits. */
struct turn *turns_next(const struct turns *ts);
/* t, which turns_next returned, has its turn. */
void turns_take(struct turns *ts, struct turn *t);

#endif
