/* `ax up`: a nats-server, ingress and dispatch as children of one process that starts, watches and
 * stops them. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/connect.h"
#include "bus/provision/provision.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/store/store.h"
#include "cli/store/store_file.h"
#include "cli/store/token.h"
#include "cli/streams/pool.h"
#include "cli/up/child.h"
#include "cli/up/health.h"
#include "cli/up/host.h"
#include "cli/up/program.h"
#include "cli/up/readiness.h"
#include "cli/up/server.h"
#include "stats/http.h"

#define START_TIMEOUT_MS 60000
#define STOP_GRACE_MS 10000
#define TICK_STARTING_MS 20
#define TICK_MS 500

enum { SERVER, INGRESS, DISPATCH, CHILDREN };

const char cmd_up_detail[] = "When all is there, one line comes on stdout: ax ready "
                             "nats://127.0.0.1:PORT. Logs go to stderr. A child that\n"
                             "dies is started again. SIGINT, SIGTERM or the end of the parent "
                             "process stop everything, the server last.\n"
                             "Every user of this machine can connect, unless --token closes it: "
                             "the line has nats://TOKEN@… then, and `ax --store DIR` finds it.\n"
                             "--http PORT answers GET /healthz and /readyz (503 and the reason "
                             "while a child is down or not ready).\n"
                             "nats-server is the one AX_NATS_SERVER names, else the one on PATH, "
                             "else the one that `make` keeps in ~/.cache/ax.";

struct up {
    struct cli *cli;
    struct child children[CHILDREN];
    /* of the server */
    struct host host;
    struct store store;
    int64_t port;
    char url[320]; /* without the token */
    bool has_token;
    char token[TOKEN_MAX_CHARS + 1];
    char token_path[PATH_MAX + sizeof(STORE_TOKEN) + 1];
    char **server_environment, **daemon_environment; /* owned */
    int signals, parent; /* parent: -1, or a pidfd of the process that started this one */
    natsConnection *nc;
    int64_t http_port;
    struct http *http;
    struct health health;
    bool stop;
};

/* ---- waiting: signals, the parent's end, children */

static void reap(struct up *u)
{
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        if (u->children[i].pid != 0 && waitpid(u->children[i].pid, &status, WNOHANG) > 0)
            child_died(&u->children[i], status);
    }
}

static void wait_tick(struct up *u, int ms)
{
    struct pollfd fds[2] = {{.fd = u->signals, .events = POLLIN},
                            {.fd = u->parent, .events = POLLIN}};
    poll(fds, u->parent >= 0 ? 2 : 1, ms);
    struct signalfd_siginfo info;
    while (read(u->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo != SIGCHLD)
            u->stop = true;
    }
    if (u->parent >= 0 && fds[1].revents) {
        log_info("the parent process has ended", NULL);
        u->stop = true;
    }
    reap(u);
}

/* The process that started this one; -1: none to watch (init, or a container's first process). */
static int watch_parent(pid_t parent, bool *gone)
{
    *gone = false;
    if (parent <= 1)
        return -1;
    int fd = (int)syscall(SYS_pidfd_open, parent, 0);
    /* It may have ended between the two calls. */
    *gone = getppid() != parent;
    return fd;
}

/* ---- the server */

static bool launch_server(struct up *u)
{
    struct child *c = &u->children[SERVER];
    c->environment = u->server_environment;
    /* It holds the store for as long as it lives, whatever becomes of this process. */
    c->keep_fd = u->store.lock_fd;
    server_drop_ports_files(u->store.path);
    return server_args(c, u->store.path, u->host.address, (int)u->port, true) && child_start(c);
}

/* Sets u->port, unless u->stop. */
static int wait_server(struct up *u, const char *version)
{
    const struct child *c = &u->children[SERVER];
    int64_t deadline_ms = clock_now_ms() + START_TIMEOUT_MS;
    pid_t pid = c->pid;
    int port = 0;
    while (!u->stop && (port = server_port(u->store.path, pid)) == 0) {
        if (c->pid == 0) {
            return say(CLI_FAILED,
                       "nats-server (%s, version %s) ended while starting; its log says why",
                       c->path, version);
        }
        if (clock_now_ms() > deadline_ms) {
            return say(CLI_FAILED, "nats-server (%s) did not start within %d s", c->path,
                       START_TIMEOUT_MS / 1000);
        }
        wait_tick(u, TICK_STARTING_MS);
    }
    u->port = port;
    return CLI_OK;
}

/* Children talk to our server, whatever the caller's environment says about another one. */
static char **make_daemon_environment(const struct up *u)
{
    const char *level = u->cli->options.log_level;
    const struct environment_variable variables[] = {
        {"NATS_CREDS", NULL},
        {"NATS_USER", NULL},
        {"NATS_PASSWORD", NULL},
        {"NATS_CA", NULL},
        {"NATS_CERT", NULL},
        {"NATS_KEY", NULL},
        {"CREDENTIALS_DIRECTORY", NULL},
        {"AX_REPLICAS", NULL},
        /* Their HTTP is for this process alone (readiness_probe). */
        {"AX_HTTP_BIND", NULL},
        {"NATS_URL", u->url},
        /* The name of the file: the token itself is in no environment and on no command line. */
        {"NATS_PASSWORD_FILE", u->has_token ? u->token_path : NULL},
        {"AX_LOG_LEVEL", level != NULL ? level : "info"},
    };
    return environment_with(variables, sizeof(variables) / sizeof(variables[0]));
}

static int start_server(struct up *u)
{
    struct problem p = {0};
    struct child *c = &u->children[SERVER];
    char version[32] = "";
    if (program_find_server(c->path, version, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
    u->server_environment = server_environment();
    if (u->server_environment == NULL)
        return say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
    if (server_write_conf(&u->store, u->has_token ? u->token : NULL, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
    if (!launch_server(u))
        return say(CLI_FAILED, "%s cannot be started", c->path);
    int code = wait_server(u, version);
    if (code != CLI_OK || u->stop)
        return code;
    snprintf(u->url, sizeof(u->url), "nats://%s:%d", u->host.in_url, (int)u->port);
    u->daemon_environment = make_daemon_environment(u);
    /* Later starts use the same port and write no ports file. */
    if (u->daemon_environment == NULL ||
        !server_args(c, u->store.path, u->host.address, (int)u->port, false))
        return say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
    return CLI_OK;
}

static int provision(struct up *u)
{
    struct problem p = {0};
    struct options o = {.server = u->url,
                        .password_file = u->has_token ? u->token_path : NULL,
                        .log_level = u->cli->options.log_level,
                        .replicas = 1};
    struct priorities ps;
    ax_err err = connect_open(&u->nc, &o, NULL, "ax up", NULL, &p);
    if (err == AX_OK)
        err = provision_streams(u->nc, 1, NULL, NULL, &p);
    if (err == AX_OK)
        err = provision_priorities(u->nc, &ps, &p);
    if (err == AX_OK)
        err = provision_feeders(u->nc, &ps, &p);
    if (err == AX_OK)
        err = pool_add(u->nc, DEFAULT_POOL, "{}", &p);
    if (err == AX_OK || err == AX_E_EXISTS)
        return CLI_OK;
    return say(CLI_FAILED, "%s", p.text[0] != '\0' ? p.text : ax_err_text(err));
}

/* ---- the daemons */

static bool start_daemon(struct up *u, int which)
{
    struct child *c = &u->children[which];
    /* Chosen anew at every start: somebody may have taken the last one. */
    c->http_port = readiness_free_port();
    child_clear_args(c);
    if (!child_arg(c, "--server") || !child_arg(c, "%s", u->url) || !child_arg(c, "--http") ||
        !child_arg(c, "%d", c->http_port))
        return false;
    c->environment = u->daemon_environment;
    return child_start(c);
}

static int start_daemons(struct up *u)
{
    for (int i = INGRESS; i <= DISPATCH; i++) {
        if (!start_daemon(u, i))
            return say(CLI_FAILED, "%s cannot be started", u->children[i].path);
    }
    return CLI_OK;
}

/* ---- watching */

static void restart_due(struct up *u)
{
    for (int i = 0; i < CHILDREN; i++) {
        struct child *c = &u->children[i];
        if (c->pid != 0 || c->restart_ms == 0 || c->restart_ms > clock_now_ms())
            continue;
        if (i == SERVER)
            child_start(c);
        else
            start_daemon(u, i);
    }
}

static bool is_healthy(const struct up *u, const struct child *c, char *why, size_t cap)
{
    if (c->pid == 0) {
        snprintf(why, cap, "is down");
        return false;
    }
    if (c->http_port != 0)
        return readiness_probe(c->http_port, why, cap);
    snprintf(why, cap, "is not reached");
    return natsConnection_Status(u->nc) == NATS_CONN_STATUS_CONNECTED;
}

static void check_health(struct up *u)
{
    char why[200], line[256];
    for (int i = 0; i < CHILDREN; i++) {
        const struct child *c = &u->children[i];
        if (is_healthy(u, c, why, sizeof(why)))
            continue;
        snprintf(line, sizeof(line), "%s: %s", c->name, why);
        health_set(&u->health, false, line);
        return;
    }
    health_set(&u->health, true, "");
}

static int wait_ready(struct up *u)
{
    int64_t deadline_ms = clock_now_ms() + START_TIMEOUT_MS;
    while (!u->stop) {
        check_health(u);
        if (u->health.ready)
            return CLI_OK;
        if (clock_now_ms() > deadline_ms) {
            return say(CLI_FAILED, "not ready after %d s: %s", START_TIMEOUT_MS / 1000,
                       u->health.why);
        }
        wait_tick(u, TICK_STARTING_MS);
        restart_due(u);
    }
    return CLI_OK;
}

static void watch(struct up *u)
{
    while (!u->stop) {
        wait_tick(u, TICK_MS);
        if (u->stop)
            return;
        restart_due(u);
        check_health(u);
    }
}

/* ---- from start to stop */

static int start_http(struct up *u)
{
    struct problem p = {0};
    const char *bind = u->cli->options.http_bind;
    if (u->http_port == 0)
        return CLI_OK;
    if (http_start(&u->http, bind != NULL ? bind : "127.0.0.1", (int)u->http_port, health_is_ready,
                   &u->health, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
    log_info("health", "url=http://127.0.0.1:%d/readyz", http_port(u->http));
    return CLI_OK;
}

/* The address is on stdout for whoever started this, and in the store for `ax` commands. */
static int tell_ready(struct up *u)
{
    struct problem p = {0};
    char url[sizeof(u->url) + sizeof(u->token)];
    snprintf(url, sizeof(url), "nats://%s%s%s:%d", u->token, u->has_token ? "@" : "",
             u->host.in_url, (int)u->port);
    if (u->has_token)
        log_info("clients need the token", "file=%s", u->token_path);
    else
        log_warn("open to every user of this machine; --token closes it", "url=%s", u->url);
    if (store_file_create(&u->store, STORE_URL, url, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
    output_print("ax ready %s\n", url);
    fflush(stdout);
    return CLI_OK;
}

static int run(struct up *u)
{
    static int (*const steps[])(struct up *u) = {start_http,    start_server, provision,
                                                 start_daemons, wait_ready,   tell_ready};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int code = steps[i](u);
        if (code != CLI_OK || u->stop)
            return code;
    }
    watch(u);
    return CLI_OK;
}

static void stop_all(struct up *u)
{
    struct child *daemons[] = {&u->children[INGRESS], &u->children[DISPATCH]};
    struct child *server[] = {&u->children[SERVER]};
    health_set(&u->health, false, "stopping");
    if (u->store.lock_fd >= 0)
        store_file_remove(&u->store, STORE_URL);
    child_stop_all(daemons, 2, STOP_GRACE_MS);
    natsConnection_Close(u->nc);
    natsConnection_Destroy(u->nc);
    child_stop_all(server, 1, STOP_GRACE_MS);
    http_stop(u->http);
    for (int i = 0; i < CHILDREN; i++)
        child_clear_args(&u->children[i]);
    free(u->server_environment);
    free(u->daemon_environment);
    store_close(&u->store);
    explicit_bzero(u->token, sizeof(u->token));
}

static int find_daemons(struct up *u)
{
    struct problem p = {0};
    child_init(&u->children[SERVER], "nats-server", SIGTERM);
    child_init(&u->children[INGRESS], "ax-ingress", SIGKILL);
    child_init(&u->children[DISPATCH], "ax-dispatch", SIGKILL);
    for (int i = INGRESS; i <= DISPATCH; i++) {
        if (program_find(u->children[i].name, u->children[i].path, &p) != AX_OK)
            return say(CLI_FAILED, "%s", p.text);
    }
    return CLI_OK;
}

/* ---- what was asked for */

static int take_host(struct up *u, const char *given)
{
    struct problem p = {0};
    if (host_resolve(given, &u->host, &p) != AX_OK)
        return say(CLI_USAGE, "%s", p.text);
    if (u->host.is_loopback || u->has_token)
        return CLI_OK;
    return say(CLI_USAGE,
               "--host: %s can be reached from other machines, where anybody could connect: "
               "--token is needed with it",
               given);
}

static int take_store(struct up *u, const char *given)
{
    struct problem p = {0};
    ax_err err = store_take(given, &u->store, &p);
    if (err == AX_OK && u->has_token)
        err = token_take(&u->store, u->token, &p);
    if (err == AX_OK) {
        store_file_remove(&u->store, STORE_URL); /* of one that was killed */
        snprintf(u->token_path, sizeof(u->token_path), "%s/" STORE_TOKEN, u->store.path);
        return CLI_OK;
    }
    return say(err == AX_E_INVALID && u->store.path == NULL ? CLI_USAGE : CLI_FAILED, "%s", p.text);
}

/* Signals and the parent's end. */
static int watch_for_the_end(struct up *u, pid_t parent)
{
    bool gone = false;
    u->signals = signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, SIGCHLD}, 4);
    if (u->signals < 0)
        return say(CLI_FAILED, "signalfd: %s", strerror(errno));
    u->parent = watch_parent(parent, &gone);
    return gone ? say(CLI_FAILED, "the parent process has ended") : CLI_OK;
}

int cmd_up(struct cli *c)
{
    struct up u = {.cli = c, .port = 4222, .store = {.fd = -1, .lock_fd = -1}};
    const char *host = "127.0.0.1";
    int64_t http_port_given = INT64_MIN;
    const struct flag flags[] = {
        {"port", FLAG_INT, &u.port, 0, 65535, "N",
         "port of the NATS server (default 4222; 0: any free one)"},
        {"host", FLAG_TEXT, &host, 0, 0, "ADDRESS",
         "address it listens on (default 127.0.0.1); other machines need --token"},
        {"token", FLAG_BOOL, &u.has_token, 0, 0, NULL,
         "close it: clients need the token that is kept in the store"},
        {"store", FLAG_TEXT, &c->options.store, 0, 0, "DIR",
         "where its streams are kept (default ~/.local/share/ax)"},
        {"http", FLAG_INT, &http_port_given, -1, 65535, "PORT",
         "answer health checks there (-1: any free port)"},
    };
    pid_t parent = getppid();
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 0, 0);
    if (code >= 0)
        return code;
    u.http_port = http_port_given == INT64_MIN ? c->options.http_port : http_port_given;
    health_init(&u.health, "starting");
    /* What the server writes is for nobody else either. */
    umask(077);
    code = watch_for_the_end(&u, parent);
    if (code == CLI_OK)
        code = take_host(&u, host);
    if (code == CLI_OK)
        code = find_daemons(&u);
    if (code == CLI_OK)
        code = take_store(&u, c->options.store);
    if (code == CLI_OK)
        code = run(&u);
    stop_all(&u);
    return code;
}
