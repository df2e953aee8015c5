/* The pace of a pool whose rate adapts: how many tasks may be in flight, and how fast they are
 * started.
 *
 * Concurrency is what overloads a system behind the workers, so concurrency is what is controlled:
 * a window of tasks in flight. The rate follows from it by Little's law (L = λW; Little 1961):
 * window / run time. The window moves by
 *
 *   AIMD                 additive increase, multiplicative decrease: Chiu & Jain 1989. Doubling at
 *                        the start: Jacobson 1988.
 *   delay as the signal  TCP Vegas, Brakmo & Peterson 1995: run times are compared with normal
 *                        ones. Below a third of the tolerance the window grows, above the tolerance
 *                        it shrinks, in between it stays.
 *   the gradient         Netflix' concurrency-limits (Gradient): the factor of a decrease is
 *                        normal / present run time.
 *   probing              BBR's ProbeRTT, Cardwell et al. 2016: normal run times are measured anew
 *                        at a smaller window.
 *
 * It judges in rounds: at least a second, and about as many acknowledgements as there are tasks in
 * flight. So there is one decision per run time, counted from one run time after the window was
 * changed. Run times are compared by the mean of their logarithms, which a few long tasks do not
 * upset; a decrease needs a difference beyond its error.
 *
 * A decrease is an experiment: where run times (or failures, or the workers' load) do not follow
 * the window down, the window is not their cause. Then what is seen counts as normal from now on,
 * and the window returns to what it was.
 *
 * pace.c moves the window, pace_judge.c says what a round means, pace_normal.c learns what is
 * normal. Pure: time and everything else is passed in. docs/design/adaptive-rate.md has the
 * reasons. */
#ifndef AX_DISPATCH_RATE_PACE_H
#define AX_DISPATCH_RATE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_INITIAL 4 /* tasks in flight of a pool of which nothing is known */

struct pace_limits {
    double rate; /* configured, 1/s; 0: no limit */
    /* 1/s; the window is never below what carries this rate at normal run times, nor below 1 */
    double floor;
    double tolerance; /* run times this many times the normal ones are pressure; > 1 */
    /* a part of failures this much above the usual one is pressure; 1: never */
    double fail_ratio;
    int64_t most; /* most tasks in flight that there may be, >= 1 */
};

/* What is known at a tick beside the acknowledgements. */
struct pace_observed {
    /* mean load that workers have reported since the round began, 0 … 1; < 0: none has */
    double load;
    double errors; /* failures that they have reported since then */
    int64_t peak;  /* most tasks in flight lately */
};

/* What pressed the window down. */
enum pace_why { PACE_NOTHING, PACE_RUN_TIME, PACE_FAILURES, PACE_LOAD };

enum pace_phase {
    PACE_STARTING, /* the window doubles */
    PACE_STEADY,
    PACE_FALLING, /* it was lowered, and the pressure has not gone yet */
    PACE_PROBING, /* it is smaller for one round, to measure normal run times anew */
};

/* The round under way. */
struct pace_round {
    int64_t start_ns;
    double ok, sum_ln, sum_ln2; /* finished attempts, logarithms of their run times in seconds */
    double ended, sum_s;        /* all attempts that ended, their run times */
    double failed, timed_out;
    bool full; /* the window was used up */
};

/* PACE_STARTING. */
struct pace_start {
    double doubles_to; /* up to this window it doubles */
    /* So long after it began without any acknowledgement the window grows a little all the same. */
    int64_t quiet_ns;
};

/* What is normal: without pressure. */
struct pace_normal {
    bool known;   /* ln, s and error hold */
    double ln, s; /* run time: mean of its logarithm, mean */
    double error; /* standard error of ln */
    double failing, load;
};

/* The rounds in a row at the present window. */
struct pace_same {
    double window;
    int64_t since_ns; /* attempts that ended before are of an earlier window, and do not count */
    double rounds;    /* how many */
    double slower;    /* how much slower than normal they were, mean difference of ln */
};

/* The round before. */
struct pace_before {
    bool known;
    double ln, window;
};

struct pace_growth {
    int rest; /* rounds that the window still waits before it grows */
    /* window at the last decrease for run times, until the window is beyond it; 0: none */
    double ceiling;
    int streak; /* steps up in a row */
    /* after the last round: the window grew; run times were a little long and nothing was done */
    bool stepped, doubted;
    int since_probe; /* rounds since run times were measured at a clearly smaller window */
};

/* PACE_FALLING, PACE_PROBING: how it was before. */
struct pace_fall {
    enum pace_why why;
    double window, ln, error, failing, load;
    int at_bottom; /* rounds at the smallest window, still under pressure */
};

struct pace {
    double window; /* a whole number, >= 1 */
    enum pace_phase phase;
    int64_t begun_ns;
    double last_s; /* mean run time of the last round; 0: not known */
    /* Standard deviation of the mean logarithms of rounds at one window: what sways all tasks
     * together adds to it. */
    double noise;
    struct pace_round round;
    struct pace_start start;
    struct pace_normal normal;
    struct pace_same same;
    struct pace_before before;
    struct pace_growth growth;
    struct pace_fall fall;
};

/* Begins anew. inflight: tasks that workers have already from an earlier leader. now_ns, here and
 * below: monotonic. */
void pace_begin(struct pace *p, int64_t inflight, int64_t now_ns);
/* An attempt that was handed off at handed_ns ended: ok: finished, else given back by its worker.
 */
void pace_ended(struct pace *p, bool ok, int64_t handed_ns, int64_t now_ns);
/* An attempt ended without an acknowledgement. */
void pace_timed_out(struct pace *p);
/* As many tasks are in flight as the window allows. */
void pace_full(struct pace *p);
/* Forgets the round under way (the pool was paused). */
void pace_skip(struct pace *p, int64_t now_ns);
/* To be called once a second or so. Returns what pressed the window down, if it was lowered now;
 * PACE_NOTHING also when the limits alone lowered it. */
enum pace_why pace_tick(struct pace *p, const struct pace_limits *l, const struct pace_observed *o,
                        int64_t now_ns);
/* Tasks that may be in flight, >= 1. */
int64_t pace_window(const struct pace *p);
/* Starts per second: a quarter more than fill the window, within the configured rate. 0: no
 * limit. */
double pace_rate(const struct pace *p, const struct pace_limits *l);
/* Normal run time in seconds; 0: not known yet. */
double pace_normal_s(const struct pace *p);

#endif
