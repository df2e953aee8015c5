/* Two submissions of one key, through two ingresses, while the first of them may be done before the second is stored: one
 * answer says new, the other known. A record is heard before the PubAck of what was stored after it. What an ingress
 * heard of is read again after the PubAck, and told from its own task by the stamp of the submission.
 *
 * holds: twice KEPT=0
 * holds: record-of-before KEPT=1
 * fails: no-check "TWO ARE NEW" KEPT=0
 * fails: any-record "NONE IS NEW" KEPT=0
 */
#define no_check (V == 1)   /* a PubAck means new */
#define any_record (V == 2) /* whichever of the two the record is of */
#include "common.inc"

hidden byte KEPT; /* 1: a cancelled record of the key is there from before: it is heard of, and frees the key */

#define NEITHER 0
#define NEW 1
#define KNOWN 2
byte q;           /* which submission is in the queue; 0: none */
byte record;      /* which one is done; 0: none */
bool heard[3];    /* the ingress of submission 1, 2 has heard of a record */
byte answer[3];

c_code {
    static int holds(void)
    {
        int news = (now.answer[1] == 1) + (now.answer[2] == 1);
        if (news > 1)
            return violated("TWO ARE NEW");
        return now.answer[1] == 2 && now.answer[2] == 2 ? violated("NONE IS NEW") : 1;
    }
}
#define check(what) step(what); c_code { now.wrong = !holds(); }; assert(!wrong)

/* submission_look.c:on_record, submission_store.c:submission_store_queue, submission_store_note, and again on_record */
proctype ingress(byte n)
{
    bool sure;

    atomic { sure = !heard[n]; step("looks into its index\n") }
    if
    :: !sure ->
        if
        :: atomic { record != 0 -> answer[n] = KNOWN; check("record: known\n"); goto over }
        :: atomic { record == 0 -> step("no record that counts\n") }
        fi
    :: else -> skip
    fi;
    if
    :: atomic { q != 0 -> answer[n] = KNOWN; check("the queue has it: known\n"); goto over }
    :: atomic { q == 0 -> q = n; step("stored\n") }
    fi;
    /* the PubAck: what was recorded before is heard by now, and what was recorded since may be */
    if
    :: no_check || !heard[n] -> skip
    :: else ->
        if
        :: atomic { record != 0 && (record != n || any_record) -> answer[n] = KNOWN; check("its record is another's: known\n"); goto over }
        :: atomic { record == 0 || (record == n && !any_record) -> step("none, or its own\n") }
        fi
    fi;
    atomic { answer[n] = NEW; check("new\n") }
over:
    skip
}

/* The record, then the ack of the queue message (ending.c); what is recorded is dropped (hand_off.c). */
proctype dispatcher()
{
end:
    do
    :: atomic { q != 0 && record == 0 -> record = q; heard[1] = true; heard[2] = true; step("done: recorded\n") }
    :: atomic { q != 0 && record != 0 -> q = 0; step("acks the queue message, or drops it\n") }
    od
}

init
{
    atomic {
        choose_variant();
        c_code { KEPT = setting("KEPT"); };
        heard[1] = KEPT; heard[2] = KEPT;
        run ingress(1); run ingress(2); run dispatcher()
    }
}
