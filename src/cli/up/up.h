/* Parts of `ax up`: finding programs, children that die with their parent, probing readiness. */
#ifndef AX_CLI_UP_UP_H
#define AX_CLI_UP_UP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* ---- programs */

/* A nats-server new enough: $AX_NATS_SERVER alone when set, else the first suitable of PATH and
 * AX's cache. */
ax_err up_find_server(char path[PATH_MAX], char version[32], struct problem *p);
/* A program that lies beside this one, or on PATH. */
ax_err up_find_program(const char *name, char path[PATH_MAX], struct problem *p);

/* ---- children */

#define CHILD_ARGS_MAX 24
struct child {
    const char *name; /* argv[0] as well */
    char path[PATH_MAX];
    char *argv[CHILD_ARGS_MAX]; /* owned from [1] on, NULL-terminated */
    int argc;
    char **environment; /* borrowed */
    int death_signal;   /* what the kernel sends it when this process dies */
    int keep_fd;        /* inherited, -1: none */
    pid_t pid;          /* 0: not running */
    int http_port;      /* where it answers /readyz; 0: it does not */
    int failures;       /* deaths in a row */
    int64_t started_ms, restart_ms;
};
void child_init(struct child *c, const char *name, int death_signal);
/* Appends an argument; false: no room or memory. */
bool child_arg(struct child *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void child_clear_args(struct child *c);
bool child_start(struct child *c);
/* The child has ended (status from waitpid): says so and sets when it is to be started again. */
void child_died(struct child *c, int status);
/* SIGTERM, and SIGKILL to what still runs after grace_ms. Returns when all have ended. */
void children_stop(struct child **list, int count, int64_t grace_ms);

/* ---- how our nats-server is set up */

#define UP_SERVER_CONF "nats-server.conf"
struct server_block {
    char **entries; /* owned; what they point to is not */
    char memory[48];
};
/* Writes the configuration file into the store; false: errno. */
bool up_write_server_conf(const char *store);
/* This process's environment, with settings of Go's garbage collector where it has none. NULL:
 * errno. */
char **up_server_environment(struct server_block *b);

/* ---- readiness */

/* A TCP port of the loopback that nobody has just now; 0: none. */
int up_free_port(void);
/* GET /readyz on 127.0.0.1:port: true when 200; else why (cap bytes, one line). */
bool up_probe(int port, char *why, size_t cap);

#endif
