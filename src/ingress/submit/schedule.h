/* A submission with Ax-Cron: the schedule of its key is replaced by compare-and-set. One that is
 * the same stays and is answered as known; one that an operator has paused is replaced by a paused
 * one. The schedule is a message in AX_LATER under ax.later.…, which the server fires again and
 * again (ingress/feed/cron_firing.h). Lock of the loop held in every call. */
#ifndef AX_INGRESS_SUBMIT_SCHEDULE_H
#define AX_INGRESS_SUBMIT_SCHEDULE_H

struct submission;

/* Ends with FOUND (another schedule, to be replaced), OURS, SAME, NOT_FOUND, REFUSED (the key names
 * a task that is not recurring) or NO_ANSWER. */
void schedule_look(struct submission *s);
/* STORED, EXISTS (somebody replaced it at the same moment), REFUSED. */
void schedule_store(struct submission *s);
/* Looks for one that had another priority, whose place the new one did not take. It is looked for
 * each time, since the process that replaced it may have died before it came to removing it. Of two
 * that replace each other at once the later one stays. FOUND, NOT_FOUND, NO_ANSWER. */
void schedule_look_older(struct submission *s);
/* REMOVED or NO_ANSWER. */
void schedule_remove_older(struct submission *s);

#endif
