#include "bus/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/text/duration.h"
#include "base/text/url.h"
#include "bus/connection/recover.h"
#include "bus/wire.h"
#include "task/inbox.h"

#define CONNECT_WAIT_NS 10000000000LL
#define DEFAULT_SERVER "nats://127.0.0.1:4222"
#define SERVERS_MAX 32
#define TRY_MS 2000
#define HOLD_MS 1200
#define HOLD_SLICE_MS 50
#define URL_TEXT_MAX 256 /* of a line or an error */

/* A token in a file, which nats.c asks for each time that it connects, on the thread that does. One
 * for the process. */
static struct {
    pthread_mutex_t lock;
    const char *path;
    char text[SECRET_MAX_BYTES + 1]; /* as last read: what counts while the file cannot be read */
} token = {.lock = PTHREAD_MUTEX_INITIALIZER};

ax_err connect_error(natsStatus s)
{
    switch (s) {
    case NATS_OK:
        return AX_OK;
    case NATS_TIMEOUT:
        return AX_E_TIMEOUT;
    case NATS_NO_RESPONDERS:
        return AX_E_NO_RESPONDERS;
    case NATS_NO_MEMORY:
        return AX_E_NOMEM;
    case NATS_MAX_PAYLOAD:
        return AX_E_TOO_LONG;
    case NATS_NOT_PERMITTED:
    case NATS_CONNECTION_AUTH_FAILED:
        return AX_E_AUTH;
    case NATS_INVALID_ARG:
    case NATS_INVALID_SUBJECT:
        return AX_E_INVALID;
    default:
        return AX_E_DISCONNECTED;
    }
}

bool connect_version_at_least(const char *a, const char *b)
{
    int x[3] = {0}, y[3] = {0};
    if (sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2]) != 3 ||
        sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2]) != 3)
        return false;
    for (int i = 0; i < 3; i++) {
        if (x[i] != y[i])
            return x[i] > y[i];
    }
    return strchr(a, '-') == NULL || strchr(b, '-') != NULL;
}

/* Splits "host:port" off a URL as nats.c prints it ("nats://host:port", "tls://[::1]:4222"). */
static bool split_url(const char *url, char host[256], char port[8])
{
    const char *at = strstr(url, "://");
    at = at != NULL ? at + 3 : url;
    const char *user = strrchr(at, '@');
    if (user != NULL)
        at = user + 1;
    const char *colon = strrchr(at, ':');
    if (colon == NULL || strlen(colon + 1) >= 8)
        return false;
    size_t n = (size_t)(colon - at);
    if (n >= 2 && at[0] == '[' && at[n - 1] == ']') {
        at++;
        n -= 2;
    }
    if (n == 0 || n >= 256)
        return false;
    memcpy(host, at, n);
    host[n] = '\0';
    snprintf(port, 8, "%s", colon + 1);
    return true;
}

static int dial(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (getaddrinfo(host, port, &hints, &list) != 0)
        return -1;
    int fd = -1;
    for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0)
            continue;
        struct timeval limit = {.tv_sec = 2};
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

/* The version of the server that nc is connected to ("2.15.1"). nats.c 3.4 has no call for it. But
 * a server greets every TCP connection with "INFO {json}\r\n", also those that will turn to TLS
 * afterwards. AX_E_NOT_FOUND: the greeting is encrypted. */
static ax_err read_server_version(natsConnection *nc, char buf[32])
{
    char url[512], host[256], port[8], line[16384];
    if (natsConnection_GetConnectedUrl(nc, url, sizeof(url)) != NATS_OK ||
        !split_url(url, host, port))
        return AX_E_DISCONNECTED;
    int fd = dial(host, port);
    if (fd < 0)
        return AX_E_DISCONNECTED;
    size_t n = 0;
    while (n < sizeof(line) - 1 && memchr(line, '\n', n) == NULL) {
        ssize_t got = read(fd, line + n, sizeof(line) - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    line[n] = '\0';
    if (strncmp(line, "INFO ", 5) != 0)
        return AX_E_NOT_FOUND; /* TLS first: the greeting is encrypted */
    json_t *info = json_loads(line + 5, JSON_DISABLE_EOF_CHECK, NULL);
    const char *version = json_string_value(json_object_get(info, "version"));
    ax_err err = AX_E_PROTOCOL;
    if (version != NULL && strlen(version) < 32) {
        snprintf(buf, 32, "%s", version);
        err = AX_OK;
    }
    json_decref(info);
    return err;
}

/* What the callbacks of a connection get. */
struct connection {
    const struct wire_events *events;
    struct recover *recover; /* NULL: a command's, which ends when its connection does */
    struct connection *next; /* in the list of all: callbacks may come late */
};
static struct connection *connections;

static struct connection *connection_new(const struct options *o, const char *name,
                                         const struct wire_events *events)
{
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->events = events;
    c->recover = events != NULL ? recover_new(connect_try, o, name) : NULL;
    c->next = connections;
    connections = c;
    return events != NULL && c->recover == NULL ? NULL : c;
}

static void on_disconnected(natsConnection *nc, void *closure)
{
    if (natsConnection_IsClosed(nc)) {
        /* nats.c also calls this, on a thread of its own, after the connection was closed: its
         * listener may not exist any more. */
        return;
    }
    const struct wire_events *e = ((struct connection *)closure)->events;
    log_warn("disconnected from NATS, reconnecting", NULL);
    if (e != NULL && e->disconnected != NULL)
        e->disconnected(e->arg);
}

static void on_reconnected(natsConnection *nc, void *closure)
{
    const struct wire_events *e = ((struct connection *)closure)->events;
    char url[512] = "", shown[URL_TEXT_MAX];
    natsConnection_GetConnectedUrl(nc, url, sizeof(url));
    log_info("reconnected to NATS", "url=%s", url_redact(url, shown, sizeof(shown)));
    recover_on_reconnected(((struct connection *)closure)->recover);
    if (e != NULL && e->reconnected != NULL)
        e->reconnected(e->arg);
}

static void on_error(natsConnection *nc, natsSubscription *sub, natsStatus s, void *closure)
{
    (void)nc;
    (void)sub;
    recover_on_error(((struct connection *)closure)->recover, s);
    char buf[128];
    log_warn("nats client error", "error=%s", log_quote(natsStatus_GetText(s), buf, sizeof(buf)));
}

static natsStatus set_servers(natsOptions *opts, const char *list)
{
    char *copy = strdup(list);
    const char *servers[SERVERS_MAX];
    int count = 0;
    if (copy == NULL)
        return NATS_NO_MEMORY;
    char *save = NULL;
    for (char *s = strtok_r(copy, ", ", &save); s != NULL && count < SERVERS_MAX;
         s = strtok_r(NULL, ", ", &save))
        servers[count++] = s;
    natsStatus st = count == 0 ? NATS_INVALID_ARG : natsOptions_SetServers(opts, servers, count);
    free(copy);
    return st;
}

static const char *on_token_wanted(void *closure)
{
    (void)closure;
    static _Thread_local char given[SECRET_MAX_BYTES + 1];
    struct problem p;
    char quoted[300];
    pthread_mutex_lock(&token.lock);
    if (secret_read(token.path, given, &p) == AX_OK)
        strcpy(token.text, given);
    else
        log_warn("token not read again", "error=%s", log_quote(p.text, quoted, sizeof(quoted)));
    strcpy(given, token.text);
    pthread_mutex_unlock(&token.lock);
    return given;
}

static bool keep_token(const char *path, const char *text)
{
    pthread_mutex_lock(&token.lock);
    if (token.path == NULL)
        token.path = secret_keep(path);
    strcpy(token.text, text);
    pthread_mutex_unlock(&token.lock);
    return token.path != NULL;
}

/* nats.c takes a password once, so another one in the file counts from the next start. */
static ax_err set_password_file(natsOptions *opts, const struct options *o, struct problem *p)
{
    char text[SECRET_MAX_BYTES + 1];
    natsStatus s = NATS_NO_MEMORY;
    ax_err err = secret_read(o->password_file, text, p);
    if (err != AX_OK)
        return err;
    if (o->user != NULL) {
        s = natsOptions_SetUserInfo(opts, o->user, text);
    } else if (keep_token(o->password_file, text)) {
        s = natsOptions_SetTokenHandler(opts, on_token_wanted, NULL);
    }
    explicit_bzero(text, sizeof(text));
    return s == NATS_OK ? AX_OK : problem_set(p, connect_error(s), "%s", natsStatus_GetText(s));
}

static natsStatus set_security(natsOptions *opts, const struct options *o)
{
    natsStatus s = NATS_OK;
    if (o->password_file != NULL)
        s = NATS_OK; /* set_password_file */
    else if (o->user != NULL && o->password != NULL)
        s = natsOptions_SetUserInfo(opts, o->user, o->password);
    else if (o->user != NULL)
        s = natsOptions_SetToken(opts, o->user);
    if (s == NATS_OK && o->creds != NULL)
        s = natsOptions_SetUserCredentialsFromFiles(opts, o->creds, NULL);
    if (s == NATS_OK && (o->ca != NULL || o->cert != NULL))
        s = natsOptions_SetSecure(opts, true);
    if (s == NATS_OK && o->ca != NULL)
        s = natsOptions_LoadCATrustedCertificates(opts, o->ca);
    if (s == NATS_OK && o->cert != NULL)
        s = natsOptions_LoadCertificatesChain(opts, o->cert, o->key != NULL ? o->key : o->cert);
    return s;
}

/* c NULL: a connection that is only to be tried. */
static natsStatus set_options(natsOptions *opts, const struct options *o,
                              const struct connect_loop *loop, const char *name,
                              struct connection *c)
{
    natsStatus s = set_servers(opts, o->server != NULL ? o->server : DEFAULT_SERVER);
#define TRY(call)     \
    if (s == NATS_OK) \
    s = (call)
    TRY(set_security(opts, o));
    TRY(natsOptions_SetName(opts, name));
    if (o->inbox_prefix != NULL)
        TRY(natsOptions_SetCustomInboxPrefix(opts, o->inbox_prefix));
    TRY(natsOptions_SetTimeout(opts, 5000));
    TRY(natsOptions_SetMaxReconnect(opts, -1));
    TRY(natsOptions_SetReconnectWait(opts, 250));
    TRY(natsOptions_SetReconnectJitter(opts, 100, 100));
    TRY(natsOptions_SetPingInterval(opts, 10000));
    TRY(natsOptions_SetMaxPingsOut(opts, 3));
    if (c != NULL) {
        TRY(natsOptions_SetErrorHandler(opts, on_error, c));
        TRY(natsOptions_SetDisconnectedCB(opts, on_disconnected, c));
        TRY(natsOptions_SetReconnectedCB(opts, on_reconnected, c));
    }
    if (c != NULL && c->recover != NULL)
        TRY(recover_install(c->recover, opts));
    if (loop != NULL) {
        /* in event-loop mode: asks the loop to write at once */
        TRY(natsOptions_SetSendAsap(opts, true));
        TRY(natsOptions_SetIOBufSize(opts, 256 * 1024));
        TRY(natsOptions_SetEventLoop(opts, loop->loop, loop->attach, loop->read, loop->write,
                                     loop->detach));
    }
#undef TRY
    return s;
}

/* "cannot connect to …": nats.c's own words begin with a place, "(conn.c:733): ". */
static ax_err refused(natsStatus s, const char *server, struct problem *p)
{
    char more[URL_TEXT_MAX];
    const char *text = natsStatus_GetText(s), *last = nats_GetLastError(NULL);
    const char *place = last != NULL ? strstr(last, "): ") : NULL;
    url_redact(place != NULL ? place + 3 : "", more, sizeof(more));
    bool said = more[0] == '\0' || strcmp(more, text) == 0;
    return problem_set(p, connect_error(s), "cannot connect to %s: %s%s%s", server, text,
                       said ? "" : ": ", said ? "" : more);
}

static ax_err make_options(natsOptions **opts, const struct options *o,
                           const struct connect_loop *loop, const char *name, struct connection *c,
                           const char *server, struct problem *p)
{
    char more[URL_TEXT_MAX];
    natsStatus s = natsOptions_Create(opts);
    if (s == NATS_OK && o->password_file != NULL) {
        ax_err err = set_password_file(*opts, o, p);
        if (err != AX_OK)
            return err;
    }
    if (s == NATS_OK)
        s = set_options(*opts, o, loop, name, c);
    if (s == NATS_OK)
        return AX_OK;
    const char *last = nats_GetLastError(NULL);
    return problem_set(p, connect_error(s), "connection options (server %s): %s", server,
                       url_redact(last != NULL ? last : "", more, sizeof(more)));
}

/* nats.c says which of them only by "(null)" or not at all. */
static ax_err check_files(const struct options *o, struct problem *p)
{
    const struct {
        const char *what, *path;
    } files[] = {{"--creds (NATS_CREDS)", o->creds},
                 {"--tlsca (NATS_CA)", o->ca},
                 {"--tlscert (NATS_CERT)", o->cert},
                 {"--tlskey (NATS_KEY)", o->key}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int fd = files[i].path != NULL ? open(files[i].path, O_RDONLY | O_CLOEXEC) : -1;
        struct stat st;
        bool is_dir = fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
        if (fd >= 0)
            close(fd);
        if (files[i].path != NULL && (fd < 0 || is_dir)) {
            return problem_set(p, AX_E_INVALID, "%s: cannot read %s: %s", files[i].what,
                               files[i].path, strerror(is_dir ? EISDIR : errno));
        }
    }
    return AX_OK;
}

/* Somebody at a terminal should know what is waited for. */
static void say_waiting(const char *server, int64_t wait_ns)
{
    char text[URL_TEXT_MAX + 64], how_long[48];
    snprintf(text, sizeof(text), "no server at %s yet, trying for %s", server,
             duration_format(wait_ns / 1000000, how_long));
    error_print("ax", text);
}

/* nats.c 3.4 does not retry a first connect whose INFO failed: tries again by hand while the server
 * comes up. */
static natsStatus connect_patiently(natsConnection **nc, natsOptions *opts, int64_t wait_ns,
                                    const char *said_server)
{
    int64_t until = clock_now_ns() + wait_ns;
    for (bool said = said_server == NULL;;) {
        natsStatus s = natsConnection_Connect(nc, opts);
        if (s == NATS_OK || s == NATS_CONNECTION_AUTH_FAILED || s == NATS_SSL_ERROR ||
            clock_now_ns() >= until)
            return s;
        if (!said && s == NATS_NO_SERVER)
            say_waiting(said_server, wait_ns);
        said = said || s == NATS_NO_SERVER;
        poll(NULL, 0, 250);
    }
}

/* Credentials that have just expired are let in for a moment. */
static natsStatus hold(natsConnection *nc)
{
    const char *text = NULL;
    for (int left = HOLD_MS; left > 0; left -= HOLD_SLICE_MS) {
        if (natsConnection_Status(nc) != NATS_CONN_STATUS_CONNECTED) {
            natsStatus s = natsConnection_GetLastError(nc, &text);
            return s != NATS_OK ? s : NATS_CONNECTION_CLOSED;
        }
        poll(NULL, 0, HOLD_SLICE_MS);
    }
    return NATS_OK;
}

ax_err connect_try(const struct options *o, const char *name, struct problem *p)
{
    natsOptions *opts = NULL;
    natsConnection *nc = NULL;
    char server[URL_TEXT_MAX];
    url_redact(o->server != NULL ? o->server : DEFAULT_SERVER, server, sizeof(server));
    ax_err err = check_files(o, p);
    if (err == AX_OK)
        err = make_options(&opts, o, NULL, name, NULL, server, p);
    natsStatus s = NATS_OK;
    if (err == AX_OK)
        s = natsOptions_SetTimeout(opts, TRY_MS);
    if (err == AX_OK && s == NATS_OK)
        s = natsOptions_SetAllowReconnect(opts, false);
    if (err == AX_OK && s == NATS_OK)
        s = natsConnection_Connect(&nc, opts);
    if (nc != NULL)
        s = hold(nc);
    natsOptions_Destroy(opts);
    natsConnection_Destroy(nc);
    return err == AX_OK && s != NATS_OK ? refused(s, server, p) : err;
}

ax_err connect_open(natsConnection **out, const struct options *o, const struct connect_loop *loop,
                    const char *name, const struct wire_events *events, struct problem *p)
{
    natsOptions *opts = NULL;
    natsConnection *nc = NULL;
    natsStatus s;
    char server[URL_TEXT_MAX];
    url_redact(o->server != NULL ? o->server : DEFAULT_SERVER, server, sizeof(server));
    nats_Open(-1);
    inbox_use_prefix(o->inbox_prefix);
    struct connection *c = connection_new(o, name, events);
    if (c == NULL)
        return problem_set(p, AX_E_NOMEM, "cannot connect: %s", ax_err_text(AX_E_NOMEM));
    ax_err err = check_files(o, p);
    if (err == AX_OK)
        err = make_options(&opts, o, loop, name, c, server, p);
    if (err != AX_OK) {
        natsOptions_Destroy(opts);
        return err;
    }
    bool is_command = loop == NULL && o->connect_timeout_ms > 0;
    s = connect_patiently(&nc, opts, is_command ? o->connect_timeout_ms * 1000000 : CONNECT_WAIT_NS,
                          is_command ? server : NULL);
    natsOptions_Destroy(opts);
    if (s != NATS_OK)
        return refused(s, server, p);
    char version[32];
    err = read_server_version(nc, version);
    if (err == AX_OK && !connect_version_at_least(version, AX_MIN_SERVER)) {
        recover_end();
        natsConnection_Destroy(nc);
        return problem_set(p, AX_E_VERSION, "nats-server %s at %s is too old: AX needs %s or newer",
                           version, server, AX_MIN_SERVER);
    }
    if (err != AX_OK)
        log_warn("could not read the server's version; AX needs " AX_MIN_SERVER " or newer", NULL);
    *out = nc;
    return AX_OK;
}
