/* Fault points: places before and after each durable step at which a test lets the process die
 * (docs/testing.md). They exist in builds with -DAX_FAULTS=ON only.
 *
 * AX_FAULT=name[:n] in the environment arms one: the nth time that the process passes it
 * (default the first), the process dies as by kill -9, with nothing flushed. `--fault-points` as
 * the only argument prints the points of a program, one a line. */
#ifndef AX_BASE_FAULT_H
#define AX_BASE_FAULT_H

#ifdef AX_FAULTS

struct fault_point {
    const char *name;
    unsigned long passed;
};

/* flush: writes what was published before the process dies, with arg; NULL: nothing is written. */
void fault_pass(struct fault_point *p, void (*flush)(void *arg), void *arg);

/* Each use adds an entry to a section of the program, so that no point can be missing from the
 * list. */
#define FAULT_AT(name, flush, arg)                                             \
    do {                                                                       \
        static struct fault_point fault_point_ = {name, 0};                    \
        static struct fault_point *fault_entry_                                \
            __attribute__((used, section("ax_fault_points"))) = &fault_point_; \
        fault_pass(&fault_point_, flush, arg);                                 \
    } while (0)

#else

#define FAULT_AT(name, flush, arg) ((void)0)

#endif

/* Dies here. What was published since the loop last slept is still in nats.c's buffer, and is
 * lost. */
#define FAULT(name) FAULT_AT(name, NULL, NULL)
/* For a step that several paths share: only on the path where the condition holds. */
#ifdef AX_FAULTS
#define FAULT_IF(condition, name) \
    do {                          \
        if (condition)            \
            FAULT(name);          \
    } while (0)
#else
#define FAULT_IF(condition, name) ((void)0)
#endif

#endif
