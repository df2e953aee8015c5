/* A dead letter is retried by an operator (ax dead retry) while the attempt that died is perhaps still being released, and while
 * other submissions of the key, which ingress took before that, are perhaps only now being stored.
 *
 * holds: retry DEATHS=1 RETRIES=2 COPIES=1
 * long: retry-long DEATHS=2 RETRIES=3 COPIES=2
 * fails: delete-first "LOST" RETRIES=1
 * fails: there-is-enough "LOST" RETRIES=1
 * fails: copy-is-enough "LOST" RETRIES=1 COPIES=1
 * fails: no-dead-look "STARTED WITH ITS DEAD LETTER THERE" COPIES=1
 * fails: nameless "LOST" RETRIES=1
 */
#define delete_first (V == 1)
#define there_is_enough (V == 2)
#define copy_is_enough (V == 3)
#define no_dead_look (V == 4)
#define nameless (V == 5) /* what is brought back does not say from which letter */
#include "common.inc"

hidden byte DEATHS;  /* of the dispatcher or of the command, each */
hidden byte RETRIES; /* times that the command is given */
hidden byte COPIES;  /* submissions that are stored late */

#define DYING 1 /* its last attempt has failed: ending.c will write the letter */
#define FRESH 2 /* put there by a retry */
#define COPY 3  /* another submission */
byte q = DYING; /* what is in the queue under the task's id */
byte q_life = 1, lives = 1;
byte q_names;   /* FRESH: the letter that it was brought back from */
byte letter;    /* AX_DEAD: the life whose letter it is; 0: none */
bool over;      /* it ended otherwise: done */
byte deaths, retries, copies;

c_code {
    static int holds(void)
    {
        return now.q != 0 || now.letter != 0 || now.over ? 1 : violated("LOST");
    }
    static int may_start(void)
    {
        return now.q == 3 && now.letter != 0 ? violated("STARTED WITH ITS DEAD LETTER THERE") : 1;
    }
    static int may_stop(void)
    {
        return now.q == 0 ? 1 : violated("STUCK");
    }
}
#define check(what) step(what); c_code { now.wrong = !holds(); }; assert(!wrong)
#define gone q = 0; q_life = 0; q_names = 0
#define key_is_dead (letter != 0 && letter != q_names && !no_dead_look)

proctype dispatcher()
{
    bool written, dropping, started;
end:
    do
    :: atomic { q == DYING && !written -> letter = q_life; written = true; check("writes the dead letter\n") }
    :: atomic { q == DYING && written -> gone; written = false; check("acks the queue message\n") }
    /* hand_off.c: run_hand_off, is_dead */
    :: atomic { (q == FRESH || q == COPY) && !written && !dropping && !started ->
            if
            :: key_is_dead || over -> dropping = true; check("its key is dead, or done\n")
            :: !(key_is_dead || over) ->
                c_code { now.wrong = !may_start(); }; assert(!wrong);
                started = true; check("starts it\n")
            fi }
    :: atomic { dropping -> dropping = false; gone; check("drops it\n") }
    :: atomic { started -> started = false; over = true; gone; check("finishes it\n") }
    :: atomic { started && lives < 4 -> started = false;
            if
            :: q == COPY -> lives++; q_life = lives
            :: q != COPY -> skip
            fi;
            q = DYING; q_names = 0; check("it fails for good\n") }
    :: atomic { (written || dropping || started) && deaths < DEATHS ->
            deaths++; written = false; dropping = false; started = false; check("DISPATCHER DIES, and begins again\n") }
    od
}

/* ingress stores a submission that it looked up before the key died */
proctype ingress()
{
end:
    do
    :: atomic { q == 0 && copies < COPIES -> copies++; q = COPY; check("another submission is stored\n") }
    od
}

/* cli/dead/dead_retry.c:dead_retry */
proctype operator()
{
    byte read; /* the letter that was read: its life */
    bool put;
end:
    do
    :: atomic { read == 0 && letter != 0 && retries < RETRIES -> retries++; read = letter; check("ax dead retry: reads the letter\n") }
    :: atomic { read != 0 && !put && delete_first && letter == read -> letter = 0; check("deletes the letter\n") }
    :: atomic { read != 0 && !put && !(delete_first && letter == read) ->
            if
            :: q == 0 && lives < 4 -> q = FRESH; lives++; q_life = lives; q_names = (nameless -> 0 : read); put = true;
                check("puts the task into its queue\n")
            :: q == 0 && lives == 4 -> read = 0 /* the bound of the model */
            :: q == FRESH && (q_names == read || nameless) -> put = true; check("it is there already\n")
            :: q == COPY && copy_is_enough -> put = true; check("it is there already\n")
            :: q == DYING && there_is_enough -> put = true; check("it is there already\n")
            :: else -> read = 0; check("something else is there: the letter stays\n")
            fi }
    :: atomic { put -> put = false;
            if
            :: letter == read -> letter = 0
            :: else -> skip
            fi;
            read = 0; check("deletes the letter\n") }
    :: atomic { read != 0 && deaths < DEATHS -> deaths++; read = 0; put = false; check("THE COMMAND IS INTERRUPTED\n") }
    od
}

proctype judge()
{
end:
    atomic { timeout -> step("nothing moves any more\n"); c_code { now.wrong = !may_stop(); }; assert(!wrong) }
}

init
{
    atomic {
        choose_variant();
        c_code {
            DEATHS = setting("DEATHS");
            RETRIES = setting("RETRIES");
            COPIES = setting("COPIES");
        }
        run dispatcher(); run ingress(); run operator(); run judge()
    }
}
