/* ax cancel looks for a task that moves meanwhile: its schedule fires, the feeder brings it into its queue, an attempt fails.
 * Its dispatcher may die, and is asked again.
 *
 * holds: moves FAILURES=2
 * holds: deaths FAILURES=1 DEATHS=2
 * fails: queue-first "STARTED AFTER THE SEARCH HAD ENDED" FAILURES=0
 * fails: no-last-look "STARTED AFTER THE SEARCH HAD ENDED" FAILURES=0
 * fails: blind "STARTED AFTER THE SEARCH HAD ENDED" FAILURES=1
 * fails: record-last "UNKNOWN, ALTHOUGH IT WAS CANCELLED" FAILURES=0 DEATHS=1
 */
#define queue_first (V == 1)
#define no_last_look (V == 2)
#define blind (V == 4)
#define record_last (V == 5)
#include "common.inc"

hidden byte FAILURES; /* of attempts */
hidden byte DEATHS;   /* of the dispatcher, in the middle of a search */

bool later, due, q; /* where it is stored */
bool got;           /* the dispatcher has it: a run */
bool came;          /* the dispatcher got it while it was looked for */
bool written;       /* it has stored the next attempt */
bool cancelled; /* the search has ended: cancelled, or unknown */
bool record;    /* says cancelled */
bool removed;   /* something of the task was removed */
byte failures, deaths;

c_code {
    static int may_start(void)
    {
        return now.cancelled ? violated("STARTED AFTER THE SEARCH HAD ENDED") : 1;
    }
    static int may_conclude(void)
    {
        return now.removed && !now.record ? violated("UNKNOWN, ALTHOUGH IT WAS CANCELLED") : 1;
    }
}

proctype server()
{
end:
    do
    :: atomic { later && !due -> later = false; due = true; step("schedule fires\n") }
    od
}

proctype feeder()
{
    bool fed;
end:
    do
    :: atomic { due && !fed && !q -> q = true; fed = true; step("feeder: puts it into its queue\n") }
    :: atomic { fed -> due = false; fed = false; step("feeder: acks the due message\n") }
    od
}

/* queue.c:on_new, and ending.c for an attempt that fails. The same thread as cancel.c. */
proctype dispatcher()
{
end:
    do
    :: atomic { q && !got -> got = true; came = true; step("dispatch gets it\n"); c_code { now.wrong = !may_start(); }; assert(!wrong) }
    :: atomic { got && q && !written && failures < FAILURES && !later -> failures++; later = true; written = true; step("the attempt fails: next one is stored\n") }
    :: atomic { got && written -> q = false; got = false; written = false; step("acks the queue message\n") }
    od
}

/* The dispatcher dies: its attempt is the queue's again. Whoever asked asks once more. */
#define may_die \
    if \
    :: atomic { deaths < DEATHS -> deaths++; got = false; written = false; noted = false; step("DISPATCHER DIES\n"); goto round } \
    :: true -> skip \
    fi

/* Found by one request, noted down, and deleted by the next: by then it may have moved. */
#define look(it, place, what) \
    if \
    :: atomic { it -> found = true; step(what) }; \
        may_die; \
        if \
        :: !noted -> record = record || !record_last; noted = true \
        :: else -> skip \
        fi; \
        may_die; \
        atomic { removed = removed || place; place = false }; \
        may_die \
    :: atomic { !(it) -> step(what) } \
    fi

/* cancel.c: new_round, look_next, on_found, again, conclude */
proctype cancel()
{
    bool found, noted;

round:
    do
    :: atomic { got -> /* run_cancel, or a step is under way */
            if
            :: later -> skip /* written already: the next round finds it */
            :: !later && !noted -> record = record || !record_last; noted = true; step("cancel: notes it down\n")
            :: !later && noted -> removed = true; q = false; got = false; found = true; step("cancel: ends the run\n")
            fi }
    :: atomic { deaths < DEATHS -> deaths++; got = false; written = false; noted = false; step("DISPATCHER DIES\n") }
    :: atomic { !got -> found = false; came = false; break }
    od;
    if
    :: queue_first -> look(q, q, "cancel: looks at the queue\n")
    :: else -> skip
    fi;
    look(later, later, "cancel: looks at AX_LATER\n")
    look(due, due, "cancel: looks at the due message\n")
    if
    :: !queue_first && !no_last_look -> look(q && !got, q, "cancel: looks at the queue\n")
    :: else -> skip
    fi;
    if
    :: found || ((got || came) && !blind) -> goto round
    :: else -> skip
    fi;
    if
    :: record_last && noted -> may_die; record = true
    :: else -> skip
    fi;
    atomic { cancelled = true; step("cancel: concludes\n"); c_code { now.wrong = !may_conclude(); }; assert(!wrong) }
}

init { atomic { choose_variant(); c_code { FAILURES = setting("FAILURES"); DEATHS = setting("DEATHS"); }; later = true; run server(); run feeder(); run dispatcher(); run cancel() } }
