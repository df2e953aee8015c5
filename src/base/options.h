/* The options that the programs share: one row an option, with its flag, environment variable,
 * kind, range and default. A flag wins over the environment, the environment over the default. A
 * new option is a row here and one in docs/cli.md. */
#ifndef AX_BASE_OPTIONS_H
#define AX_BASE_OPTIONS_H

#include "base/error.h"
#include "base/flag.h"

/* Which programs know an option; FOR_COMMAND: `ax` also after the name of a command. */
enum options_for {
    FOR_INGRESS = 1,
    FOR_DISPATCH = 2,
    FOR_AX = 4,
    FOR_COMMAND = 8,
    FOR_ALL = FOR_INGRESS | FOR_DISPATCH | FOR_AX,
    FOR_EVERYWHERE = FOR_ALL | FOR_COMMAND,
};

/* The types of options, by kind. Text lives as long as the process; NULL: not given. */
typedef const char *options_TEXT;
typedef const char *options_CHOICE;
typedef const char *options_HIDE;
typedef const char *options_URLS;
typedef const char *options_INBOX;
typedef const char *options_INBOXES;
typedef int64_t options_INT;
typedef int64_t options_MS;
typedef int64_t options_BYTES;
typedef bool options_BOOL;

/* X(field of struct options, flag, letter or 0, variable, kind, min, max, words, default, what the
 * value is called, programs, help). The first seven are read as the nats CLI reads them. */
#define OPTIONS_TABLE(X)                                                                          \
    X(server, "server", 's', "NATS_URL", URLS, 0, 0, NULL, NULL, "URL", FOR_EVERYWHERE,           \
      "NATS server, several with commas (nats://127.0.0.1:4222)")                                 \
    X(creds, "creds", 0, "NATS_CREDS", TEXT, 0, 0, NULL, NULL, "FILE", FOR_EVERYWHERE,            \
      "credentials file")                                                                         \
    X(user, "user", 0, "NATS_USER", HIDE, 0, 0, NULL, NULL, "NAME", FOR_EVERYWHERE,               \
      "user name, or token without password")                                                     \
    X(password, "password", 0, "NATS_PASSWORD", HIDE, 0, 0, NULL, NULL, "TEXT", FOR_EVERYWHERE,   \
      "password; better in a file")                                                               \
    X(ca, "tlsca", 0, "NATS_CA", TEXT, 0, 0, NULL, NULL, "FILE", FOR_EVERYWHERE,                  \
      "certificate authority of the server")                                                      \
    X(cert, "tlscert", 0, "NATS_CERT", TEXT, 0, 0, NULL, NULL, "FILE", FOR_EVERYWHERE,            \
      "client certificate")                                                                       \
    X(key, "tlskey", 0, "NATS_KEY", TEXT, 0, 0, NULL, NULL, "FILE", FOR_EVERYWHERE,               \
      "key of the client certificate")                                                            \
    X(password_file, "password-file", 0, "NATS_PASSWORD_FILE", TEXT, 0, 0, NULL, NULL, "FILE",    \
      FOR_EVERYWHERE, "file with the password, or with a token when there is no user")            \
    X(inbox_prefix, "inbox-prefix", 0, "AX_INBOX_PREFIX", INBOX, 0, 0, NULL, NULL, "PREFIX",      \
      FOR_EVERYWHERE, "with what this program's inboxes begin (_INBOX)")                          \
    X(reply_prefixes, "reply-prefixes", 0, "AX_REPLY_PREFIXES", INBOXES, 0, 0, NULL, NULL,        \
      "PREFIXES", FOR_ALL, "prefixes of inboxes that are answered beside _INBOX")                 \
    X(connect_timeout_ms, "connect-timeout", 0, "AX_CONNECT_TIMEOUT", MS, 100, 3600000, NULL,     \
      "5s", "DURATION", FOR_AX | FOR_COMMAND, "how long a command waits for a server")            \
    X(store, "store", 0, "AX_STORE", TEXT, 0, 0, NULL, NULL, "DIR", FOR_AX | FOR_COMMAND,         \
      "store of an `ax up`: the address and the token are read there")                            \
    X(log_level, "log-level", 0, "AX_LOG_LEVEL", CHOICE, 0, 0, "error|warn|info|debug", "info",   \
      "LEVEL", FOR_EVERYWHERE, "least level that is logged")                                      \
    X(http_bind, "http-bind", 0, "AX_HTTP_BIND", TEXT, 0, 0, NULL, "127.0.0.1", "ADDRESS",        \
      FOR_ALL, "address of the HTTP port")                                                        \
    X(http_port, "http", 0, "AX_HTTP", INT, -1, 65535, NULL, "0", "PORT", FOR_ALL,                \
      "port for /healthz, /readyz, /metrics; 0: none, -1: any free one")                          \
    X(replicas, "replicas", 0, "AX_REPLICAS", INT, 1, 5, "1|3|5", "1", "N", FOR_EVERYWHERE,       \
      "replicas of streams created from now")                                                     \
    X(lease_ttl_ms, "lease-ttl", 0, "AX_LEASE_TTL", MS, 1000, 60000, NULL, "5s", "DURATION",      \
      FOR_DISPATCH | FOR_AX, "how long a dispatcher leads a pool without renewing its lease")     \
    X(inflight, "inflight", 0, "AX_INFLIGHT", INT, 16, 1048576, NULL, "16384", "N",               \
      FOR_INGRESS | FOR_AX, "submissions in flight at a time")                                    \
    X(max_memory_bytes, "max-memory", 0, "AX_MAX_MEMORY", BYTES, 16777216, 1099511627776, NULL,   \
      "256MiB", "BYTES", FOR_INGRESS | FOR_AX, "memory that submissions in flight may take")      \
    X(pool_submit_rate, "pool-submit-rate", 0, "AX_POOL_SUBMIT_RATE", INT, 0, 1000000, NULL, "0", \
      "N", FOR_INGRESS | FOR_AX, "submissions a second of one pool; 0: any number")               \
    X(filter_entries, "filter-entries", 0, "AX_FILTER_ENTRIES", INT, 1024, 100000000, NULL,       \
      "200000", "N", FOR_ALL, "keys that the first Bloom filter of a day holds")                  \
    X(strict_pools, "strict-pools", 0, "AX_STRICT_POOLS", BOOL, 0, 1, NULL, NULL, NULL,           \
      FOR_INGRESS | FOR_AX, "refuse tasks of pools that nobody added")                            \
    X(max_pools, "max-pools", 0, "AX_MAX_POOLS", INT, 1, 100000, NULL, "500", "N",                \
      FOR_INGRESS | FOR_AX, "pools up to which a task of an unknown pool adds it")

struct options {
#define X(field, flag, letter, variable, kind, ...) options_##kind field;
    OPTIONS_TABLE(X)
#undef X
};

#define OPTIONS_ROWS_MAX 32

/* Reads defaults, environment and flags. Where these name no credentials file, no password or no
 * key of a certificate, systemd's credentials ax.creds, ax.password and ax.key are taken. Leaves
 * the words in argv from *first on (stop_at_first: those from the first word on, flags or not, for
 * `ax <command> …`). AX_E_CLOSED: --help or --version was given, and printed to stdout.
 * AX_E_INVALID: p names flag or variable, value and range. */
ax_err options_parse(struct options *o, enum options_for who, int argc, char **argv,
                     bool stop_at_first, int *first, struct problem *p);
/* The rows of the options that `who` knows, with their targets in o; the number of them. */
int options_rows(struct options *o, enum options_for who, struct flag_row rows[OPTIONS_ROWS_MAX]);
/* A process that AX starts for others must not see this entry of the environment, "NAME=value" or
 * "NAME": it is the variable of an option, of NATS's own tools (NATS_…), or systemd's directory of
 * credentials. Every option counts, so that a new one cannot be forgotten. */
bool options_is_private(const char *entry);
/* One line for each of them, as --help prints them. */
void options_print_help(enum options_for who);

#endif
