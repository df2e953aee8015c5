#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bus/connect.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/streams/find.h"
#include "cli/streams/recorded.h"
#include "cli/submit/submit.h"

#define ANSWER_TIMEOUT_MS 5000
#define TRIES 6
#define WAIT_FOREVER_MS (365LL * 24 * 3600 * 1000)
#define LOOK_AGAIN_MS 5000

const char cmd_submit_detail[] = "The body is BODY, the --file, or stdin. With --lines every line "
                                 "of stdin is a task: its body, or key<TAB>body;\n"
                                 "they are sent many at a time, busy answers are waited out, and "
                                 "one line of sums is printed at the end.\n"
                                 "With a key, a submission that is not answered is offered again; "
                                 "without one it could then run twice: it is not.";

/* All of a file; caller frees. NULL: said why. */
static char *read_all(const char *path, size_t *bytes)
{
    FILE *in = path ? fopen(path, "rb") : stdin;
    char *data = NULL;
    size_t cap = 0;
    *bytes = 0;
    if (!in) {
        say(CLI_FAILED, "--file: %s: %s", path, strerror(errno));
        return NULL;
    }
    for (;;) {
        if (*bytes == cap) {
            cap = cap ? cap * 2 : 65536;
            char *larger = cap > INT32_MAX ? NULL : realloc(data, cap);
            if (!larger) {
                say(CLI_FAILED, "the body is too large for memory or for a message");
                free(data);
                data = NULL;
                break;
            }
            data = larger;
        }
        size_t n = fread(data + *bytes, 1, cap - *bytes, in);
        *bytes += n;
        if (n == 0) {
            if (!ferror(in))
                break;
            say(CLI_FAILED, "%s: %s", path ? path : "stdin", strerror(errno));
            free(data);
            data = NULL;
            break;
        }
    }
    if (path)
        fclose(in);
    return data;
}

/* Offers the task until there is a word, or it may not be offered again. */
static void offer(natsConnection *nc, const struct submit_flags *f, natsMsg *msg,
                  struct submit_answer *a)
{
    int tries = 0;
    for (;;) {
        natsMsg *reply = NULL;
        natsStatus s = natsConnection_RequestMsg(&reply, nc, msg, ANSWER_TIMEOUT_MS);
        tries++;
        if (s == NATS_OK) {
            submit_parse(a, reply);
            natsMsg_Destroy(reply);
        } else {
            bool unknown = s == NATS_TIMEOUT || s == NATS_NO_RESPONDERS;
            *a = (struct submit_answer){.outcome = unknown ? SUBMIT_UNANSWERED : SUBMIT_REFUSED,
                                        .nobody = s == NATS_NO_RESPONDERS};
            snprintf(a->description, sizeof(a->description), "%s", ax_err_text(connect_error(s)));
        }
        if (a->outcome == SUBMIT_BUSY && f->retry_busy) {
            nats_Sleep(a->retry_after_ms);
            continue;
        }
        /* With nobody there it certainly was not accepted, so it may be offered again even without
         * a key. */
        bool again = a->outcome == SUBMIT_UNANSWERED && tries < TRIES && (f->key || a->nobody);
        if (!again)
            return;
        nats_Sleep(200 * tries);
    }
}

static bool has_ended(const struct found *found)
{
    return found->state == TASK_DONE || found->state == TASK_CANCELLED || found->state == TASK_DEAD;
}

/* Subscribed before the look: an end that came before is seen by the look, one that comes later is
 * heard. */
static int wait_end(natsConnection *nc, const struct submit_flags *f, const char *id,
                    struct found *found)
{
    natsSubscription *subs[3] = {NULL, NULL, NULL};
    char done[SUBJECT_MAX_CHARS], dead[SUBJECT_MAX_CHARS];
    snprintf(done, sizeof(done), DONE_PREFIX "%s", id);
    name_subject_dead(dead, f->pool, id);
    struct problem p = {0};
    natsStatus s = natsConnection_SubscribeSync(&subs[0], nc, done);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&subs[1], nc, dead);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&subs[2], nc, RECORD_BATCH_SUBJECTS);
    if (s == NATS_OK)
        s = natsConnection_FlushTimeout(nc, ANSWER_TIMEOUT_MS);
    int code = s == NATS_OK ? -1 : say(CLI_FAILED, "--wait: %s", natsStatus_GetText(s));
    int64_t deadline_ms = clock_now_ms() + f->wait_ms;
    while (code < 0) {
        ax_err e = find_task(nc, f->pool, id, found, &p);
        if (e && e != AX_E_TIMEOUT && e != AX_E_NO_RESPONDERS && e != AX_E_DISCONNECTED) {
            code = say_problem(&p);
        } else if (!e && has_ended(found)) {
            code = found->state == TASK_DONE ? CLI_OK : CLI_FAILED;
        } else if (clock_now_ms() >= deadline_ms) {
            code = say(CLI_FAILED, "--wait: task %s is %s after %" PRId64 " ms", id,
                       find_state_text(found->state), f->wait_ms);
        } else {
            int64_t look_ms = clock_now_ms() + LOOK_AGAIN_MS;
            for (int i = 0; clock_now_ms() < look_ms && clock_now_ms() < deadline_ms;
                 i = (i + 1) % 3) {
                natsMsg *msg = NULL;
                bool its = false;
                while (!its && clock_now_ms() < look_ms &&
                       natsSubscription_NextMsg(&msg, subs[i], 10) == NATS_OK) {
                    its = i < 2 || recorded_in(msg, id);
                    natsMsg_Destroy(msg);
                }
                if (its)
                    break;
            }
        }
    }
    natsSubscription_Destroy(subs[0]);
    natsSubscription_Destroy(subs[1]);
    natsSubscription_Destroy(subs[2]);
    return code;
}

static int report(natsConnection *nc, const struct submit_flags *f, const struct submit_answer *a)
{
    if (a->outcome == SUBMIT_BUSY)
        return say(CLI_BUSY, "%s", a->description);
    if (a->outcome == SUBMIT_UNANSWERED && a->nobody)
        return say(CLI_FAILED, "nobody takes submissions: is ax-ingress running?");
    if (a->outcome == SUBMIT_UNANSWERED) {
        return say(CLI_FAILED, "no answer%s%s: it is not known whether the task was accepted%s",
                   a->description[0] ? ": " : "", a->description,
                   f->key ? "; submit it again with the same key"
                          : "; with a --key it could be offered again safely");
    }
    if (a->outcome == SUBMIT_REFUSED)
        return say(CLI_FAILED, "%s", a->description);

    bool duplicate = a->outcome == SUBMIT_DUPLICATE;
    json_t *o = json_pack("{s:s,s:s,s:b,s:s,s:I}", "task", a->id, "state", a->state, "duplicate",
                          (int)duplicate, "stream", a->stream, "seq", (json_int_t)a->seq);
    int code = CLI_OK;
    if (f->wait_ms == 0) {
        if (!f->json)
            printf("%s %s%s\n", a->id, a->state, duplicate ? " (duplicate)" : "");
    } else {
        struct found found = {0};
        code = wait_end(nc, f, a->id, &found);
        json_t *end = find_json(&found);
        json_object_update(o, end);
        json_decref(end);
        if (!f->json) {
            printf("%s %s%s%s%s\n", a->id, find_state_text(found.state),
                   duplicate ? " (duplicate)" : "", found.reason[0] ? ": " : "", found.reason);
        }
    }
    if (f->json)
        output_json(o);
    else
        json_decref(o);
    return code;
}

static int submit_one(natsConnection *nc, const struct submit_flags *f, const char *body,
                      size_t bytes)
{
    natsMsg *msg = submit_message(f, f->key, body, bytes, NULL);
    if (!msg)
        return CLI_USAGE;
    struct submit_answer a;
    offer(nc, f, msg, &a);
    natsMsg_Destroy(msg);
    return report(nc, f, &a);
}

int cmd_submit(struct cli *c)
{
    struct submit_flags f = {.priority = "normal", .pool = DEFAULT_POOL, .inflight = 256};
    const struct flag flags[] = {
        {"priority", FLAG_TEXT, &f.priority, 0, 0, "NAME",
         "high, normal (default), low, or one that was added"},
        {"pool", FLAG_TEXT, &f.pool, 0, 0, "NAME", "class of workers (default: default)"},
        {"key", FLAG_TEXT, &f.key, 0, 0, "KEY",
         "idempotency key, 1 to 512 bytes: the same key runs once"},
        {"file", FLAG_TEXT, &f.file, 0, 0, "FILE", "body"},
        {"group", FLAG_TEXT, &f.group, 0, 0, "NAME",
         "whose limits and turns it shares, such as the tenant"},
        {"ordered", FLAG_BOOL, &f.ordered, 0, 0, NULL,
         "--group: one at a time, in order of acceptance"},
        {"max-retry", FLAG_TEXT, &f.max_retry, 0, 0, "N", "retries after the first attempt"},
        {"backoff", FLAG_TEXT, &f.backoff, 0, 0, "DURATION", "base of the exponential backoff"},
        {"delay", FLAG_TEXT, &f.delay, 0, 0, "DURATION", "run after a while"},
        {"at", FLAG_TEXT, &f.at, 0, 0, "TIME", "not before (RFC 3339)"},
        {"expires", FLAG_TEXT, &f.expires, 0, 0, "TIME|DURATION", "do not start later than this"},
        {"timeout", FLAG_TEXT, &f.timeout, 0, 0, "DURATION",
         "the whole run of an attempt, 1s to 24h"},
        {"cron", FLAG_TEXT, &f.cron, 0, 0, "EXPR",
         "run again and again: six fields, @every 10m, @hourly … (needs --key)"},
        {"time-zone", FLAG_TEXT, &f.time_zone, 0, 0, "ZONE",
         "--cron: such as Europe/Zurich (default UTC)"},
        {"overlap", FLAG_TEXT, &f.overlap, 0, 0, "WHAT",
         "--cron: skip (default) or queue while the last one is unfinished"},
        {"header", FLAG_LIST, &f.headers, 0, 0, "NAME:VALUE",
         "passed through to the worker; may be repeated"},
        {"wait", FLAG_OPTIONAL_MS, &f.wait_ms, 1, WAIT_FOREVER_MS, "DURATION",
         "wait for the end: exit 0 done, 1 dead"},
        {"retry-busy", FLAG_BOOL, &f.retry_busy, 0, 0, NULL, "queue full: keep offering the task"},
        {"lines", FLAG_BOOL, &f.lines, 0, 0, NULL, "one task per line of stdin"},
        {"inflight", FLAG_INT, &f.inflight, 1, 65536, "N",
         "--lines: how many at a time (default 256)"},
        {"json", FLAG_BOOL, &f.json, 0, 0, NULL, "print one line of JSON"},
    };
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 0, 1);
    if (code >= 0)
        return code;
    if (!name_is_valid(f.priority) || !name_is_valid(f.pool)) {
        return say(CLI_USAGE, "--%s: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -",
                   name_is_valid(f.priority) ? "pool" : "priority",
                   name_is_valid(f.priority) ? f.pool : f.priority);
    }
    if (f.key && (!*f.key || strlen(f.key) > KEY_MAX_BYTES)) {
        return say(CLI_USAGE, "--key: %zu bytes given, allowed are 1 to %d", strlen(f.key),
                   KEY_MAX_BYTES);
    }
    if (f.lines && (c->argc || f.file || f.key || f.wait_ms)) {
        return say(CLI_USAGE,
                   "--lines takes its tasks from stdin: no BODY, --file, --key or --wait with it");
    }
    if (f.cron && f.wait_ms)
        return say(CLI_USAGE, "--wait is given with --cron, which has no end");
    bool from_stdin = !f.lines && !f.file && (c->argc == 0 || strcmp(c->argv[0], "-") == 0);
    if (f.file && c->argc)
        return say(CLI_USAGE, "the body is given twice: as an argument and as --file");
    if (from_stdin && c->argc == 0 && isatty(STDIN_FILENO)) {
        return say(CLI_USAGE,
                   "no body: give it as an argument, with --file, or on stdin (- when typed)");
    }

    char *read = NULL;
    size_t bytes = 0;
    if ((f.file || from_stdin) && !(read = read_all(f.file, &bytes)))
        return CLI_FAILED;
    const char *body = read ? read : c->argc ? c->argv[0] : "";
    if (!read)
        bytes = strlen(body);
    natsConnection *nc = cli_connect(c);
    if (nc) {
        code = f.lines ? submit_lines(nc, &f) : submit_one(nc, &f, body, bytes);
        natsConnection_Close(nc);
        natsConnection_Destroy(nc);
    } else {
        code = CLI_FAILED;
    }
    free(read);
    return code;
}
