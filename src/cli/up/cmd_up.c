/* `ax up`: a nats-server, ingress and dispatch as children of one process that starts, watches and
 * stops them. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/connect.h"
#include "bus/provision/provision.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/streams/pool.h"
#include "cli/up/up.h"
#include "stats/http.h"

#define START_TIMEOUT_MS 60000
#define STOP_GRACE_MS 10000
#define TICK_STARTING_MS 20
#define TICK_MS 500
#define CHILDREN 3
enum { SERVER, INGRESS, DISPATCH };

extern char **environ;

const char cmd_up_detail[] = "When all is there, one line comes on stdout: ax ready "
                             "nats://127.0.0.1:PORT. Logs go to stderr. A child that\n"
                             "dies is started again. SIGINT, SIGTERM or the end of the parent "
                             "process stop everything, the server last.\n"
                             "--http PORT answers GET /healthz and /readyz (503 and the reason "
                             "while a child is down or not ready).\n"
                             "nats-server is the one AX_NATS_SERVER names, else the one on PATH, "
                             "else the one that `make` keeps in ~/.cache/ax.";

struct up {
    struct cli *cli;
    struct child children[CHILDREN];
    const char *host;
    char *store;
    int64_t port, http_port;
    char url[128];
    char **environment;
    struct server_block server_block;
    char url_entry[160], level_entry[64]; /* of the environment */
    int signals, parent, lock;
    natsConnection *nc;
    struct http *http;
    bool stop;
    pthread_mutex_t health_lock;
    bool ready;
    char why[256];
};

/* ---- waiting: signals, the parent's end, children */

static void set_health(struct up *u, bool ready, const char *why)
{
    pthread_mutex_lock(&u->health_lock);
    u->ready = ready;
    snprintf(u->why, sizeof(u->why), "%s", why);
    pthread_mutex_unlock(&u->health_lock);
}

static bool is_ready(void *arg, char *why, unsigned long cap)
{
    struct up *u = arg;
    pthread_mutex_lock(&u->health_lock);
    bool ready = u->ready;
    snprintf(why, cap, "%s", u->why);
    pthread_mutex_unlock(&u->health_lock);
    return ready;
}

static void reap(struct up *u)
{
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        if (u->children[i].pid && waitpid(u->children[i].pid, &status, WNOHANG) > 0)
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

/* ---- starting */

/* The parent that started us; -1 with none to watch (init, or a container's first process). */
static int watch_parent(pid_t parent, bool *gone)
{
    *gone = false;
    if (parent <= 1)
        return -1;
    int fd = (int)syscall(SYS_pidfd_open, parent, 0);
    /* Its end between the two calls would go unseen otherwise. */
    *gone = getppid() != parent;
    return fd;
}

static int make_store(struct up *u, const char *given)
{
    char path[PATH_MAX];
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (given)
        snprintf(path, sizeof(path), "%s", given);
    else if (data && *data)
        snprintf(path, sizeof(path), "%s/ax", data);
    else if (home && *home)
        snprintf(path, sizeof(path), "%s/.local/share/ax", home);
    else
        return say(CLI_USAGE, "--store: not given, and neither XDG_DATA_HOME nor HOME is set");
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    if (mkdir(path, 0700) && errno != EEXIST)
        return say(CLI_FAILED, "--store: %s: %s", path, strerror(errno));
    u->store = realpath(path, NULL);
    if (!u->store)
        return say(CLI_FAILED, "--store: %s: %s", path, strerror(errno));

    char lock[PATH_MAX + 16];
    snprintf(lock, sizeof(lock), "%s/ax.lock", u->store);
    u->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (u->lock < 0)
        return say(CLI_FAILED, "--store: %s: %s", lock, strerror(errno));
    /* The server inherits it: the store is taken for as long as a server of ours lives, whatever
     * became of us. */
    if (flock(u->lock, LOCK_EX | LOCK_NB))
        return say(CLI_FAILED, "--store: %s is in use by another `ax up`", u->store);
    return CLI_OK;
}

/* Children talk to our server, whatever the caller's environment says about another one. */
static char **make_environment(struct up *u)
{
    static const char *const drop[] = {
        "NATS_URL=",  "NATS_CREDS=", "NATS_USER=",    "NATS_PASSWORD=", "NATS_CA=",
        "NATS_CERT=", "NATS_KEY=",   "AX_LOG_LEVEL=", "AX_REPLICAS="};
    size_t count = 0, k = 0;
    while (environ[count])
        count++;
    char **block = calloc(count + 3, sizeof(*block));
    for (size_t i = 0; block && i < count; i++) {
        bool dropped = false;
        for (size_t d = 0; d < sizeof(drop) / sizeof(drop[0]); d++)
            dropped |= strncmp(environ[i], drop[d], strlen(drop[d])) == 0;
        if (!dropped)
            block[k++] = environ[i];
    }
    if (!block)
        return NULL;
    const char *level = u->cli->options.log_level;
    snprintf(u->url_entry, sizeof(u->url_entry), "NATS_URL=%s", u->url);
    snprintf(u->level_entry, sizeof(u->level_entry), "AX_LOG_LEVEL=%s", level ? level : "info");
    block[k++] = u->url_entry;
    block[k] = u->level_entry;
    return block;
}

static bool server_args(struct up *u)
{
    struct child *c = &u->children[SERVER];
    child_clear_args(c);
    bool right = child_arg(c, "-c") && child_arg(c, "%s/" UP_SERVER_CONF, u->store) &&
                 child_arg(c, "-js") && child_arg(c, "-sd") && child_arg(c, "%s", u->store) &&
                 child_arg(c, "-a") && child_arg(c, "%s", u->host) && child_arg(c, "-p") &&
                 child_arg(c, "%d", u->port ? (int)u->port : -1);
    /* Later starts use the same port and need not tell it. */
    return right &&
           (u->url[0] || (child_arg(c, "--ports_file_dir") && child_arg(c, "%s", u->store)));
}

/* What a killed server left: its process number may come again. */
static void drop_ports_files(const char *store)
{
    char pattern[PATH_MAX + 32];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/nats-server_*.ports", store);
    if (glob(pattern, GLOB_NOESCAPE, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
}

/* The port of the ports file nats-server writes; 0: not there yet, or not all of it. */
static int read_ports_file(const char *path)
{
    json_t *root = json_load_file(path, 0, NULL);
    const char *url = json_string_value(json_array_get(json_object_get(root, "nats"), 0));
    const char *colon = url ? strrchr(url, ':') : NULL;
    int port = colon ? atoi(colon + 1) : 0;
    json_decref(root);
    return port;
}

static int start_server(struct up *u)
{
    struct problem p = {0};
    struct child *c = &u->children[SERVER];
    char version[32] = "", path[PATH_MAX + 64];
    if (up_find_server(c->path, version, &p))
        return say(CLI_FAILED, "%s", p.text);
    c->environment = up_server_environment(&u->server_block);
    if (!c->environment || !up_write_server_conf(u->store))
        return say(CLI_FAILED, "%s/" UP_SERVER_CONF ": %s", u->store, strerror(errno));
    c->keep_fd = u->lock;
    drop_ports_files(u->store);
    if (!server_args(u) || !child_start(c))
        return say(CLI_FAILED, "%s cannot be started", c->path);
    snprintf(path, sizeof(path), "%s/nats-server_%d.ports", u->store, (int)c->pid);
    int64_t deadline_ms = clock_now_ms() + START_TIMEOUT_MS;
    int port = 0;
    while (!u->stop && !(port = read_ports_file(path))) {
        if (!c->pid) {
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
    if (u->stop)
        return CLI_OK;
    u->port = port;
    bool any = strcmp(u->host, "0.0.0.0") == 0 || strcmp(u->host, "::") == 0;
    snprintf(u->url, sizeof(u->url), "nats://%s:%d", any ? "127.0.0.1" : u->host, port);
    u->environment = make_environment(u);
    if (!u->environment || !server_args(u))
        return say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
    return CLI_OK;
}

static int provision(struct up *u)
{
    struct problem p = {0};
    struct options o = {.server = u->url, .log_level = u->cli->options.log_level, .replicas = 1};
    struct priorities ps;
    ax_err e = connect_open(&u->nc, &o, NULL, "ax up", NULL, &p);
    if (!e)
        e = provision_streams(u->nc, 1, NULL, NULL, &p);
    if (!e)
        e = provision_priorities(u->nc, &ps, &p);
    if (!e)
        e = provision_feeders(u->nc, &ps, &p);
    if (!e)
        e = pool_add(u->nc, DEFAULT_POOL, "{}", &p);
    return e && e != AX_E_EXISTS ? say(CLI_FAILED, "%s", p.text[0] ? p.text : ax_err_text(e))
                                 : CLI_OK;
}

static bool start_daemon(struct up *u, int which)
{
    struct child *c = &u->children[which];
    /* Chosen anew at every start: somebody may have taken the last one. */
    c->http_port = up_free_port();
    child_clear_args(c);
    if (!child_arg(c, "--server") || !child_arg(c, "%s", u->url) || !child_arg(c, "--http") ||
        !child_arg(c, "%d", c->http_port))
        return false;
    c->environment = u->environment;
    return child_start(c);
}

/* ---- watching */

static void restart_due(struct up *u)
{
    for (int i = 0; i < CHILDREN; i++) {
        struct child *c = &u->children[i];
        if (c->pid || !c->restart_ms || c->restart_ms > clock_now_ms())
            continue;
        if (i == SERVER)
            child_start(c);
        else
            start_daemon(u, i);
    }
}

static void check_health(struct up *u)
{
    char why[200], line[256];
    for (int i = 0; i < CHILDREN; i++) {
        struct child *c = &u->children[i];
        bool right = c->pid != 0;
        snprintf(why, sizeof(why), "is down");
        if (right && c->http_port)
            right = up_probe(c->http_port, why, sizeof(why));
        else if (right && natsConnection_Status(u->nc) != NATS_CONN_STATUS_CONNECTED) {
            snprintf(why, sizeof(why), "is not reached");
            right = false;
        }
        if (!right) {
            snprintf(line, sizeof(line), "%s: %s", c->name, why);
            set_health(u, false, line);
            return;
        }
    }
    set_health(u, true, "");
}

static int wait_ready(struct up *u)
{
    int64_t deadline_ms = clock_now_ms() + START_TIMEOUT_MS;
    while (!u->stop) {
        check_health(u);
        if (u->ready)
            return CLI_OK;
        if (clock_now_ms() > deadline_ms)
            return say(CLI_FAILED, "not ready after %d s: %s", START_TIMEOUT_MS / 1000, u->why);
        wait_tick(u, TICK_STARTING_MS);
        restart_due(u);
    }
    return CLI_OK;
}

static int run(struct up *u)
{
    struct problem p = {0};
    if (u->http_port &&
        http_start(&u->http, u->cli->options.http_bind ? u->cli->options.http_bind : "127.0.0.1",
                   (int)u->http_port, is_ready, u, &p))
        return say(CLI_FAILED, "%s", p.text);
    if (u->http)
        log_info("health", "url=http://127.0.0.1:%d/readyz", http_port(u->http));
    int code = start_server(u);
    if (!code && !u->stop)
        code = provision(u);
    for (int i = INGRESS; !code && !u->stop && i <= DISPATCH; i++) {
        if (!start_daemon(u, i))
            code = say(CLI_FAILED, "%s cannot be started", u->children[i].path);
    }
    if (!code && !u->stop)
        code = wait_ready(u);
    if (code || u->stop)
        return code;
    printf("ax ready %s\n", u->url);
    fflush(stdout);
    while (!u->stop) {
        wait_tick(u, TICK_MS);
        if (u->stop)
            break;
        restart_due(u);
        check_health(u);
    }
    return CLI_OK;
}

static void stop_all(struct up *u)
{
    struct child *daemons[] = {&u->children[INGRESS], &u->children[DISPATCH]};
    struct child *server[] = {&u->children[SERVER]};
    set_health(u, false, "stopping");
    children_stop(daemons, 2, STOP_GRACE_MS);
    natsConnection_Close(u->nc);
    natsConnection_Destroy(u->nc);
    children_stop(server, 1, STOP_GRACE_MS);
    http_stop(u->http);
}

int cmd_up(struct cli *c)
{
    struct up u = {.cli = c, .host = "127.0.0.1", .port = 4222, .lock = -1, .why = "starting"};
    const char *store = NULL;
    int64_t http_port_given = INT64_MIN;
    const struct flag flags[] = {
        {"port", FLAG_INT, &u.port, 0, 65535, "N",
         "port of the NATS server (default 4222; 0: any free one)"},
        {"host", FLAG_TEXT, &u.host, 0, 0, "ADDRESS", "address it listens on (default 127.0.0.1)"},
        {"store", FLAG_TEXT, &store, 0, 0, "DIR",
         "where its streams are kept (default ~/.local/share/ax)"},
        {"http", FLAG_INT, &http_port_given, -1, 65535, "PORT",
         "answer health checks there (-1: any free port)"},
    };
    pid_t parent = getppid();
    int code = args_parse(c, flags, 4, 0, 0);
    if (code >= 0)
        return code;
    u.http_port = http_port_given == INT64_MIN ? c->options.http_port : http_port_given;
    pthread_mutex_init(&u.health_lock, NULL);

    /* Blocked before any thread exists, so that they come through the signalfd and nowhere else. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    u.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (u.signals < 0)
        return say(CLI_FAILED, "signalfd: %s", strerror(errno));
    bool gone = false;
    u.parent = watch_parent(parent, &gone);
    if (gone)
        return say(CLI_FAILED, "the parent process has ended");

    struct problem p = {0};
    child_init(&u.children[SERVER], "nats-server", SIGTERM);
    child_init(&u.children[INGRESS], "ax-ingress", SIGKILL);
    child_init(&u.children[DISPATCH], "ax-dispatch", SIGKILL);
    if (up_find_program("ax-ingress", u.children[INGRESS].path, &p) ||
        up_find_program("ax-dispatch", u.children[DISPATCH].path, &p))
        return say(CLI_FAILED, "%s", p.text);
    code = make_store(&u, store);
    if (!code)
        code = run(&u);
    stop_all(&u);
    for (int i = 0; i < CHILDREN; i++)
        child_clear_args(&u.children[i]);
    free(u.environment);
    free(u.server_block.entries);
    free(u.store);
    return code;
}
