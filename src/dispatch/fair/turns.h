/* Whose turn it is among those that wait: deficit round robin (M. Shreedhar and G. Varghese,
 * "Efficient Fair Queuing Using Deficit Round-Robin", IEEE/ACM Transactions on Networking 4(3),
 * 1996), where every task costs 1 and a quantum is the weight: O(1) for each turn, and over any
 * stretch in which two wait all the time their turns are as their weights.
 *
 * Plain, that makes one that comes with a few tasks wait as often as one that has had thousands of
 * turns. So, as in FQ-CoDel (T. Høiland-Jørgensen et al., RFC 8290, 2018), those that are new go
 * first, in a round robin of their own, until they have had TURNS_CREDIT quanta; but while others
 * wait, every fourth turn is one of theirs. What is left of the credit is kept for when one comes
 * back; more it gets only when it is forgotten and made anew. Pure. */
#ifndef AX_DISPATCH_FAIR_TURNS_H
#define AX_DISPATCH_FAIR_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#define TURNS_CREDIT 32
#define TURNS_AHEAD 3 /* turns of new ones for each of the others, while both wait */

/* Zero-initialise, but for the weight: that is one that is new. */
struct turn {
    struct turn *prev, *next; /* in a ring; NULL: in none */
    int32_t weight;           /* 1 and up; a change counts from its next round on */
    int32_t left;             /* the deficit counter: turns left of this round */
    /* turns that it goes first for; it is in the ring of those with credit while it has any */
    int32_t credit;
    bool known; /* credit was given */
};

/* Zero-initialise. */
struct turns {
    /* whose round it is, of those with credit and of the others; NULL: none waits */
    struct turn *ahead, *head;
    int32_t since; /* turns of those with credit since the others had one */
};

/* At the end of its ring. No-op when it is in one. */
void turns_add(struct turns *ts, struct turn *t);
/* No-op when it is in none. */
void turns_remove(struct turns *ts, struct turn *t);
/* Whose turn it is, without taking it; NULL: nobody's. */
struct turn *turns_next(const struct turns *ts);
/* t, which turns_next named, has its turn. */
void turns_take(struct turns *ts, struct turn *t);

#endif
