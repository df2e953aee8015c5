"""The wire is a seam: what reaches NATS, time, chance, threads or the end of the process.

The daemons reach NATS through bus/wire.h, time through base/clock.h and the loop's timers, chance
through base/random.h. So the same objects run on a simulated wire.
"""
import re

from source import ROOT, Source, finish, self_check, sources

# The files that a simulated wire takes the place of; everything above them stays the same objects.
WIRE = set(re.findall(r"/(src/bus/[\w/]+\.c)", re.search(
    r"set\(WIRE_SOURCES(.*?)\)", (ROOT / "CMakeLists.txt").read_text(), re.S).group(1)))

# Of nats.c, elsewhere: what only builds or reads a message, and texts. A command of ax lives for one
# question and asks it directly.
NATS_CALL = re.compile(r"\b((?:nats[A-Z]?\w*?_|nats_|js_|kvStore_|objStore_|micro_|stan)\w+)\s*\(")
NATS_ALLOWED = re.compile(r"(?:natsMsg|natsMsgHeader|natsStatus)_\w+")
NATS_ROOMS = {"cli"}

WORLD_CALL = re.compile(
    r"\b(getrandom|getentropy|rand|random|srand|drand48|clock_gettime|time|gettimeofday|nanosleep|"
    r"usleep|sleep|exit|_exit|abort|quick_exit|raise|fork|vfork|posix_spawnp?|pthread_\w+|thrd_\w+|"
    r"mtx_\w+|sigaction|signal)\s*\(")
WORLD_ROOMS = {"base", "bus", "cli"}

# A reply subject is somebody else's text: what is published there passes one place.
REPLY_CALL = re.compile(r"\bnatsMsg_GetReply\s*\(")
REPLY_ROOMS = {"bus", "cli"}
REPLY_FILE = "src/stats/replies.c"

# (file, call): why it is there.
EXCEPTIONS = {
    ("src/task/names.c", "pthread_once"): "fetches OpenSSL's SHA-256 once for all threads",
    ("src/stats/metrics.c", "pthread_mutex_lock"): "metrics are rendered on the HTTP thread",
    ("src/stats/metrics.c", "pthread_mutex_unlock"): "metrics are rendered on the HTTP thread",
    ("src/bus/provision/provision.c", "natsConnection_RequestString"):
        "blocking, for the commands of ax",
    ("src/bus/provision/provision.c", "natsConnection_RequestMsg"):
        "blocking, for the commands of ax",
}


def calls(source):
    """[(line, call, advice)] of what this file must not call."""
    floor = source.room.split("/")[0]
    for m in NATS_CALL.finditer(source.code):
        if floor not in NATS_ROOMS and str(source) not in WIRE and not NATS_ALLOWED.fullmatch(
                m.group(1)):
            yield source.line_of(m.start()), m.group(1), "go through bus/wire.h"
    for m in WORLD_CALL.finditer(source.code):
        if floor not in WORLD_ROOMS:
            yield source.line_of(m.start()), m.group(1), "go through base or bus"
    for m in REPLY_CALL.finditer(source.code):
        if floor not in REPLY_ROOMS and str(source) != REPLY_FILE:
            yield (source.line_of(m.start()), "natsMsg_GetReply",
                   "ask replies_of (stats/replies.h), or puller_ack_subject")


def check_self():
    bad = Source("src/dispatch/a.c", """
static void a(void)
{
    natsConnection_Publish(nc, "x", NULL, 0); /* natsConnection_Publish() */
    js_PublishMsg(NULL, js, msg, NULL, NULL);
    nats_Sleep(1);
    natsMsg_Destroy(msg);
    reply = natsMsg_GetReply(msg);
    getrandom(&seed, sizeof(seed), 0);
    lifetime(1);
    exit(1);
}
""")
    self_check([(4, "natsConnection_Publish"), (5, "js_PublishMsg"), (6, "nats_Sleep"),
                (9, "getrandom"), (11, "exit"), (8, "natsMsg_GetReply")],
               [found[:2] for found in calls(bad)])
    self_check([], list(calls(Source("src/bus/wire.c", bad.text))))
    self_check(3, len(list(calls(Source("src/bus/a.c", bad.text)))))


def main():
    failures, used = [], set()
    for source in sources("src"):
        for line, call, advice in calls(source):
            if (str(source), call) in EXCEPTIONS:
                used.add((str(source), call))
            else:
                failures.append(f"{source}:{line}: calls {call}(): {advice}")
    failures += [f"{file}: no longer calls {call}(): take it out of EXCEPTIONS"
                 for file, call in EXCEPTIONS if (file, call) not in used]
    finish(failures, "Only the wire and the commands of ax reach NATS; bus/wire.h says why.")


check_self()
main()
