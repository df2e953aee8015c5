/* Firings of one recurring task with overlap skip: a firing makes one task, and none while the last one is unfinished. The
 * server may fire again what it forgot; two ingress instances feed; both may have the same due message.
 *
 * holds: two-firings REPEATS=1
 * fails: no-cas "TWO UNFINISHED" REPEATS=0
 * fails: no-due-look "TWO UNFINISHED" REPEATS=0
 * fails: no-queue-again "TWO UNFINISHED" REPEATS=0
 * fails: id-by-sequence "ONE FIRING RAN TWICE" REPEATS=1
 * fails: ack-first "LOST" REPEATS=0
 */
#define no_cas (V == 1)
#define no_due_look (V == 2)
#define no_queue_again (V == 3)
#define id_by_sequence (V == 4)
#define ack_first (V == 5)
#include "common.inc"

hidden byte REPEATS; /* of the first firing, by a server that forgot */
#define NS 4 /* due messages 1 … 3 */
byte fires, repeats;
byte due[NS];       /* which firing a due message is of; 0: none */
byte queue, later;  /* bits: tasks there */
byte done;          /* bits */
byte rec, rec_due, rec_seq; /* record of the last firing: task, due message, revision */
#define BIT(i) (1 << (i))
#define id_of(n) (id_by_sequence -> n : due[n])

c_code {
    static int holds(void)
    {
        int unfinished = (now.queue | now.later) & ~now.done;
        return unfinished & (unfinished - 1) ? violated("TWO UNFINISHED") : 1;
    }
}
#define check(what) step(what); c_code { now.wrong = !holds(); }; assert(!wrong)

proctype server()
{
end:
    do
    :: atomic { fires < 2 -> fires++; due[fires] = fires; check("schedule fires\n") }
    :: atomic { fires >= 1 && repeats < REPEATS -> repeats++; due[3] = 1; check("SERVER FORGOT: fires the first once more\n") }
    od
}

/* dispatch: runs it, or drops it when it is done */
proctype dispatcher()
{
    byte i = 1, retries;
end:
    do
    :: atomic { queue & BIT(1) -> done = done | BIT(1); queue = queue & ~BIT(1); check("task 1 is done\n") }
    :: atomic { queue & BIT(2) -> done = done | BIT(2); queue = queue & ~BIT(2); check("task 2 is done\n") }
    :: atomic { queue & BIT(3) -> wrong = (done & BIT(1)) != 0; c_code { if (now.wrong) violated("ONE FIRING RAN TWICE"); }; assert(!wrong);
            done = done | BIT(3); queue = queue & ~BIT(3); check("task 3 is done\n") }
    :: atomic { (queue & BIT(1)) && !(done & BIT(1)) && retries < 1 && later == 0 -> retries++; later = BIT(1); check("task 1 fails: next attempt is stored\n") }
    :: atomic { later && (queue & later) -> queue = queue & ~later; check("acks the queue message\n") }
    :: atomic { later && !(queue & later) -> queue = queue | later; check("feeder: puts the next attempt into its queue\n");  }
    :: atomic { later && (queue & later) && retries == 1 -> retries++; later = 0; check("feeder: acks the due message\n") }
    od
}

/* ingress/feed/feeder.c and ingress/feed/cron_firing.c; f: which due message it has */
proctype feeder(byte f)
{
    byte id, seq, last, last_due;
    bool go, skip_it;
end:
    do
    :: atomic { due[f] != 0 && id == 0 -> id = id_of(f); go = false; skip_it = false;
            seq = rec_seq; last = rec; last_due = rec_due;
            if
            :: last == 0 -> skip
            :: last == id -> go = true
            :: last != 0 && last != id && last > id && !id_by_sequence -> skip_it = true
            :: else -> skip
            fi;
            check("reads the record of the last firing\n") };
        if
        :: go || skip_it || last == 0 -> skip
        :: else ->
            if
            :: no_due_look -> skip
            :: else -> atomic { skip_it = skip_it || (last_due != f && due[last_due] != 0); check("looks at the last due message\n") }
            fi;
            atomic { skip_it = skip_it || (queue & BIT(last)); check("looks at the queue\n") };
            atomic { skip_it = skip_it || (later & BIT(last)); check("looks at AX_LATER\n") };
            if
            :: no_queue_again -> skip
            :: else -> atomic { skip_it = skip_it || (queue & BIT(last)); check("looks at the queue again\n") }
            fi
        fi;
        atomic {
            if
            :: go || skip_it -> skip
            :: else ->
                if
                :: rec_seq == seq || no_cas -> rec = id; rec_due = f; rec_seq++; go = true; check("claims the firing\n")
                :: else -> check("another one claimed meanwhile: asks again\n")
                fi
            fi };
        if
        :: ack_first && go -> atomic { due[f] = 0; check("acks the due message\n") };
            if
            :: true -> atomic { queue = queue | BIT(id); check("puts the task into its queue\n") }
            :: true -> atomic { wrong = !((queue | later | done) & BIT(id)); c_code { if (now.wrong) violated("LOST"); }; assert(!wrong) }
            fi
        :: !ack_first && go -> atomic { queue = queue | BIT(id); check("puts the task into its queue\n") };
            atomic { due[f] = 0; check("acks the due message\n") }
        :: skip_it -> atomic { due[f] = 0; check("skips this firing\n") }
        :: else -> skip
        fi;
        atomic { id = 0; seq = 0; last = 0; last_due = 0; go = false; skip_it = false }
    od
}

init
{
    atomic {
        choose_variant();
        c_code { REPEATS = setting("REPEATS"); };
        run server(); run dispatcher(); run feeder(1); run feeder(2); run feeder(3)
    }
}
