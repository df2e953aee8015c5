/* The lease of a pool (dispatch/lead/leadership.c): taken and renewed by compare-and-set, held from the moment a write was sent,
 * taken by another when it has seen it unchanged for as long. Everything may take any time: messages, answers, a
 * process between two steps (a pause). At no moment do two dispatchers pass their look at the clock.
 *
 * holds: two TTL=2 TIME=4
 * long: two-longer TTL=2 TIME=5
 * fails: no-cas "TWO LEADERS" TTL=2 TIME=4
 * fails: from-the-answer "TWO LEADERS" TTL=2 TIME=4
 * fails: impatient "TWO LEADERS" TTL=2 TIME=4
 * fails: server-drops-early "TWO LEADERS" TTL=2 TIME=4
 */
#define no_cas (V == 1)
#define from_the_answer (V == 2)
#define impatient (V == 3)
#define server_drops_early (V == 4)
#include "common.inc"

#define ND 2
hidden byte TTL, TIME;

byte now_t;
/* the bucket */
byte holder = ND, seq, stored_t; /* ND: free */
/* each dispatcher */
#define NOTHING 0
#define WRITE_SENT 1
#define WRITE_STORED 2
#define WRITE_REFUSED 3
#define READ_SENT 4
#define READ_DONE 5
byte pending[ND], sent_t[ND], until_t[ND], known_seq[ND], known_holder[ND], seen_t[ND], answer_seq[ND], answer_holder[ND];
bool held[ND], known[ND];

#define passes(d) (held[d] && now_t < until_t[d])

c_code {
    static int holds(void)
    {
        return now.held[0] && now.now_t < now.until_t[0] && now.held[1] && now.now_t < now.until_t[1] ? violated("TWO LEADERS")
                                                                                                      : 1;
    }
}
#define check(what) step(what); c_code { now.wrong = !holds(); }; assert(!wrong)

proctype dispatcher(byte d)
{
end:
    do
    /* tick_held, tick_none */
    :: atomic { pending[d] == NOTHING && held[d] && now_t >= until_t[d] -> held[d] = false; known[d] = false; until_t[d] = 0; check("lose\n") }
    :: atomic { pending[d] == NOTHING && passes(d) && now_t > sent_t[d] && now_t < TIME -> pending[d] = WRITE_SENT; sent_t[d] = now_t; check("renews\n") }
    :: atomic { pending[d] == NOTHING && !held[d] && !known[d] -> pending[d] = READ_SENT; check("reads\n") }
    :: atomic { pending[d] == NOTHING && !held[d] && known[d] && now_t > sent_t[d] && now_t < TIME &&
            (known_holder[d] == ND || known_holder[d] == d || now_t >= seen_t[d] + TTL || impatient) ->
            pending[d] = WRITE_SENT; sent_t[d] = now_t; check("takes\n") }
    :: atomic { pending[d] == NOTHING && !held[d] && known[d] -> known[d] = false; check("heard of a write: looks again\n") }
    /* the server */
    :: atomic { pending[d] == WRITE_SENT ->
            if
            :: known_seq[d] == seq || no_cas -> seq++; holder = d; stored_t = now_t; answer_seq[d] = seq; pending[d] = WRITE_STORED
            :: else -> pending[d] = WRITE_REFUSED
            fi;
            check("server: stores or refuses the lease\n") }
    :: atomic { pending[d] == READ_SENT -> answer_seq[d] = seq; answer_holder[d] = holder; pending[d] = READ_DONE; check("server: reads\n") }
    /* on_taken, on_renewed */
    :: atomic { pending[d] == WRITE_STORED -> pending[d] = NOTHING; known_seq[d] = answer_seq[d]; known_holder[d] = d; known[d] = true;
            if
            :: from_the_answer -> until_t[d] = now_t + TTL
            :: else -> until_t[d] = sent_t[d] + TTL
            fi;
            held[d] = now_t < until_t[d]; answer_seq[d] = 0; check("has the lease\n") }
    :: atomic { pending[d] == WRITE_STORED || pending[d] == WRITE_REFUSED -> pending[d] = NOTHING; known[d] = false; answer_seq[d] = 0; check("is refused, or hears nothing\n") }
    /* on_read */
    :: atomic { pending[d] == READ_DONE -> pending[d] = NOTHING;
            if
            :: answer_seq[d] != known_seq[d] || seen_t[d] == 0 -> seen_t[d] = now_t
            :: else -> skip
            fi;
            known_seq[d] = answer_seq[d]; known_holder[d] = answer_holder[d]; known[d] = true; answer_seq[d] = 0; answer_holder[d] = 0;
            check("knows what is stored\n") }
    od
}

proctype time()
{
end:
    do
    :: atomic { now_t < TIME -> now_t++; check("time passes\n") }
    :: atomic { holder != ND && (now_t >= stored_t + TTL || server_drops_early) && seq < 20 -> holder = ND; seq++; check("server: drops the lease\n") }
    od
}

init
{
    atomic {
        choose_variant();
        c_code {
            TTL = setting("TTL");
            TIME = setting("TIME");
        };
        now_t = 1;
        run dispatcher(0); run dispatcher(1); run time()
    }
}
