/* The pace of a pool whose rate adapts: how many tasks may be in flight, and how fast they are
 * started.
 *
 * What overloads the thing behind the workers is concurrency, so that is what is controlled: a
 * window of tasks in flight. The rate follows from it by Little's law (L = λW; Little 1961): window
 * / run time. The window moves by
 *
 *   AIMD                  Chiu & Jain 1989: additive increase, multiplicative decrease. Doubling at
 *   the start: Jacobson 1988.
 *   delay as the signal   TCP Vegas, Brakmo & Peterson 1995: run times are compared with what they
 *   are without pressure;
 *                         below a third of the tolerance it grows, above the tolerance it shrinks,
 *                         in between it stays.
 *   the gradient          Netflix' concurrency-limits (Gradient): the factor of the decrease is
 *   normal / present run time.
 *   looking               BBR's ProbeRTT, Cardwell et al. 2016: what is normal is measured anew, at
 *   a smaller window.
 *
 * It judges in rounds: at least a second, and about as many receipts as there are tasks in flight,
 * so one decision per run time, counted from one run time after the window was changed. Run times
 * are compared by the mean of their logarithms, which a few long tasks do not upset, and a decrease
 * needs a difference beyond its error.
 *
 * A decrease is an experiment: where run times (or failures, or the workers' load) do not follow
 * the window down, it is not the window that they come from. Then what is seen is normal from now
 * on, and the window is what it was.
 *
 * Pure: time and everything else is passed in. docs/design.md has the reasons. */
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

/* What is known at a tick beside the receipts. */
struct pace_told {
    /* mean load that workers have reported since the round began, 0 … 1; < 0: none has */
    double load;
    double errors; /* failures they reported in that time */
    int64_t peak;  /* most tasks in flight lately */
};

enum pace_why { PACE_NOTHING, PACE_RUN_TIME, PACE_FAILURES, PACE_LOAD };

struct pace_round {
    int64_t start_ns;
    double ok, sum_ln, sum_ln2; /* finished ones, and logarithms of their run times in seconds */
    double ended, sum_s;        /* all that ended, and their run times */
    double failed, timed_out;
    bool full; /* the window was used up */
};

struct pace {
    double window; /* whole number */
    /* the window of this round and those before it that had the same */
    double measured;
    /* receipts count from then on: a run time after the window was changed */
    int64_t since_ns;
    enum pace_phase { PACE_STARTING, PACE_STEADY, PACE_FALLING, PACE_LOOKING } phase;
    /* without any receipt for so long since it began: a little more */
    int64_t begun_ns, quiet_ns;
    double known; /* PACE_STARTING: up to this window it doubles */
    struct pace_round round;
    bool has_normal;
    double normal_ln, normal_s; /* run time without pressure: mean logarithm, mean */
    double normal_error;        /* of the logarithm */
    /* standard deviation of rounds' mean logarithms, beyond chance as it may be */
    double noise;
    /* rounds at this window, how much slower they were on the average */
    double same, same_slower;
    bool has_before;
    double before_ln, before_window;
    double last_s; /* mean run time of the last round; 0: not known */
    double normal_failing, normal_load;
    int rest; /* rounds that the window still waits before it grows */
    /* window at the last decrease for run times, until it has been passed; 0: none */
    double ceiling;
    int streak; /* steps up in a row */
    /* after the last round it grew; it was a little slower, and nothing was done */
    bool stepped, doubted;
    int unlooked; /* rounds since run times were seen at a clearly smaller window */
    struct {
        enum pace_why why;
        double window, ln, error, failing, load;
        int at_bottom; /* rounds at the smallest window, still under pressure */
    } fall;            /* PACE_FALLING, PACE_LOOKING: what it was before */
};

/* Begins; inflight: tasks that are with workers already, of an earlier leader. */
void pace_begin(struct pace *p, int64_t inflight, int64_t now_ns);
/* An attempt that was handed over at handed_ns ended: finished, or given back by its worker. */
void pace_ended(struct pace *p, bool ok, int64_t handed_ns, int64_t now_ns);
/* One ended without a word from its worker. */
void pace_timed_out(struct pace *p);
/* As many are in flight as may be. */
void pace_full(struct pace *p);
/* Forgets the round under way (the pool was paused). */
void pace_skip(struct pace *p, int64_t now_ns);
/* Once a second or so. What pressed the window down, if it was lowered now (limits of its own
 * aside). */
enum pace_why pace_tick(struct pace *p, const struct pace_limits *l, const struct pace_told *t,
                        int64_t now_ns);
/* Tasks that may be in flight, >= 1. */
int64_t pace_window(const struct pace *p);
/* Starts per second that fill the window, a quarter more than leave it, within the configured rate.
 * 0: no limit. */
double pace_rate(const struct pace *p, const struct pace_limits *l);
/* Normal run time in seconds; 0: not known yet. */
double pace_normal_s(const struct pace *p);

#endif
