/* A finding of `ax doctor`: what is wrong with what, and what to do about it. Pure. */
#ifndef AX_CLI_DOCTOR_FINDING_H
#define AX_CLI_DOCTOR_FINDING_H

enum severity {
    SEVERITY_NOTE,    /* worth knowing, maybe wanted */
    SEVERITY_WARNING, /* work suffers, or soon will */
    SEVERITY_ERROR,   /* something does not work at all */
};

struct finding {
    enum severity severity;
    const char *code; /* constant: "workers_busy" */
    char about[112];  /* "pool email", "stream AX_LATER", "ax-dispatch app-1-17-…" */
    char text[320];   /* what was seen */
    char fix[256];    /* what to do */
};
/* Zero-initialise. */
struct findings {
    int count, cap;
    struct finding *list; /* owned */
};

const char *finding_severity_text(enum severity s);

/* One without text and fix yet, about "<kind> <name>", or "<kind>" where name is "". code: a
 * constant. */
struct finding finding_begin(enum severity severity, const char *code, const char *kind,
                             const char *name);
/* Set text and fix; what does not fit is cut off. */
void finding_seen(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_fix(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends to the text. */
void finding_add(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies f. Out of memory: it is left out. */
void findings_take(struct findings *out, const struct finding *f);
/* Worst first; those of one severity stay in their order. */
void findings_sort(struct findings *f);
/* Safe on a zeroed one and twice. */
void findings_free(struct findings *f);

#endif
