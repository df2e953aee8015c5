"""Messages that are nearly right, for every subject that the daemons listen to, and a sender of its own for them: no client
library would send such subjects and reply subjects. What is sent follows from a seed."""
import asyncio
import glob
import os
import random

from harness import ROOT

MARK = "deputy"  # in every subject that a daemon must not write to
ID = f"{MARK}0123456789abcdef0123456789"
DAEMONS_ANSWER = [  # reply subjects where only a daemon would answer
    None, None, "_INBOX.other", "_INBOX.other.1.2", "_INBOX." + "x" * 240, f"$KV.AX_DONE.{ID}", f"$KV.AX_POOLS.{MARK}",
    f"$KV.AX_LEASES.{MARK}", "$JS.API.STREAM.DELETE.AX_NORMAL", "$JS.API.STREAM.PURGE.KV_AX_DONE",
    "$JS.API.CONSUMER.DELETE.AX_WORK.sms", f"ax.queue.high.sms.{ID}", f"ax.later.high.sms.{ID}", f"ax.due.high.sms.{ID}",
    f"ax.spill.high.sms.{ID}", f"ax.work.sms.{ID}", f"ax.dead.sms.{ID}", "ax.submit.high.sms", "ax.cancel.sms.1",
    f"ax.{MARK}.*", f"$KV.AX_DONE.{MARK}.>", f"_INBOX.{MARK}.*", ">", "*", "_INBOX.>", f"_INBOX..{MARK}", ".", "_INBOX",
    f"_INBOX_{MARK}.1", "$SYS.REQ.SERVER.PING", "ax.figures", f"_GR_.123456.123456.$KV.AX_DONE.{ID}",
    "$JS.ACK.AX_HIGH.sms.1.1.1.1.0", "_R_.x.y"]
SERVER_ANSWERS = [None, "_INBOX.other", "_INBOX.other.1.2", "other.x", "_INBOX." + "x" * 240]
TOKENS = ["", "*", ">", "email", "high", "normal", "é", "x" * 33, "email.email", "_", "EMAIL", "0", "-1", "18446744073709551615",
          "99999999999999999999", "9223372036854775807", "a b", "\x01", "p1", "p2", "p3"]
NUMBERS = [b"0", b"-1", b"1", b"9223372036854775807", b"-9223372036854775808", b"18446744073709551615",
           b"99999999999999999999", b"1e400", b"0.5", b"null", b"NaN", b"\"1\"", b"[]", b"{}"]
TASK = "0123456789abcdef0123456789abcdef"


def corpus(name):
    """Seeds of a fuzz target; in most of them the first byte chooses what is parsed."""
    out = []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "corpus", name, "*"))):
        with open(path, "rb") as f:
            data = f.read()
        out += [data, data[1:], data.split(b"\0", 1)[-1]]
    return out


HEADERS = {
    "submit": [("Nats-Msg-Id", "k1"), ("Ax-Key", "k2"), ("Ax-Delay", "90s"), ("Ax-At", "2030-01-31T09:00:00Z"),
               ("Ax-Cron", "@every 1h"), ("Ax-Time-Zone", "Europe/Berlin"), ("Ax-Overlap", "queue"), ("Ax-Max-Retry", "3"),
               ("Ax-Backoff", "30s"), ("Ax-Expires", "2030-01-31T09:00:00Z"), ("Ax-Timeout", "5m"), ("Ax-Group", "acme"),
               ("Ax-Ordered", "1"), ("Ax-Schema", "ax.v1.Task"), ("Ax-Schema", "ax.v1.TaskBatch"), ("traceparent", "00-ab"),
               ("Nats-Schedule", "@at 2030-01-31T09:00:00Z"), ("Nats-Schedule-Target", f"ax.queue.high.sms.{ID}"),
               ("Nats-TTL", "1s"), ("Nats-Rollup", "all"), ("Nats-Expected-Last-Subject-Sequence", "0"), ("Status", "503")],
    "report": [("Ax-Schema", "ax.v1.Report"), ("Ax-Schema", "x")],
    "value": [("Nats-Expected-Last-Subject-Sequence", "0"), ("KV-Operation", "DEL"), ("KV-Operation", "PURGE"),
              ("Nats-Marker-Reason", "MaxAge"), ("Nats-Msg-Id", "m1")],
}
ADVISORIES = [b'{"stream":"AX_WORK","consumer":"email","stream_seq":1,"deliveries":1}',
              b'{"stream":"AX_WORK","consumer":"email","stream_seq":18446744073709551615,"deliveries":-1,"paused":true}',
              b'{"stream":"AX_NORMAL","action":"delete","template":null}']
E = "$JS.EVENT.ADVISORY."
# weight, subject, where bodies come from, headers, reply subjects
TARGETS = [
    (20, "ax.submit.high.email", "proto headers", "submit", DAEMONS_ANSWER),
    (14, "ax.submit.normal.p1", "proto headers", "submit", DAEMONS_ANSWER),
    (2, "ax.submit.high", "proto", "submit", DAEMONS_ANSWER),
    (1, "ax.submit", "proto", "submit", DAEMONS_ANSWER),
    (5, f"ax.record.{TASK}", "proto", None, DAEMONS_ANSWER),
    (3, "ax.figures", "settings", None, DAEMONS_ANSWER),
    (2, f"ax.cancel.email.{TASK}", "proto", None, DAEMONS_ANSWER),
    (8, "ax.worker.email.w1", "report", "report", DAEMONS_ANSWER),
    (4, "ax.refused.high.email", "congestion", None, DAEMONS_ANSWER),
    (4, "ax.held.high.email", "congestion", None, DAEMONS_ANSWER),
    (4, "ax.acked.email", "unrecorded", None, DAEMONS_ANSWER),
    (4, "$KV.AX_POOLS.email", "settings", "value", SERVER_ANSWERS),
    (1, "$KV.AX_LEASES.email", "proto", "value", SERVER_ANSWERS),
    (1, "$KV.AX_LEASES.dispatcher.else", "proto", "value", SERVER_ANSWERS),
    (2, f"$KV.AX_DONE.{TASK}", "proto", "value", SERVER_ANSWERS),
    (2, "$KV.AX_DONE.page.2-1", "record_batch", "value", SERVER_ANSWERS),
    (1, f"ax.later.high.email.{TASK}", "proto", "submit", SERVER_ANSWERS),
    (1, f"ax.dead.email.{TASK}", "proto", "submit", SERVER_ANSWERS),
    (8, "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", "pull", None, SERVER_ANSWERS),
    (7, "$JS.ACK.AX_WORK.email.1.1.1.1700000000000000000.0", "ack pull", None, SERVER_ANSWERS),
    (3, "$JS.ACK._.account.AX_WORK.email.1.2.2.1700000000000000000.0.t", "ack", None, SERVER_ANSWERS),
    (1, E + "CONSUMER.MAX_DELIVERIES.AX_WORK.email", "", None, SERVER_ANSWERS),
    (1, E + "CONSUMER.PAUSE.AX_WORK.email", "", None, DAEMONS_ANSWER),
    (1, E + "CONSUMER.DELETED.AX_WORK.p1", "", None, DAEMONS_ANSWER),
    (1, E + "CONSUMER.LEADER_ELECTED.AX_HIGH.email", "", None, DAEMONS_ANSWER),
    (1, E + "STREAM.UPDATED.AX_SPILL", "", None, DAEMONS_ANSWER),
]


class Mutants:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.bodies = {names: [b for name in names.split() for b in corpus(name)] or ADVISORIES
                       for names in {t[2] for t in TARGETS}}
        self.weights = [t[0] for t in TARGETS]

    def bytes(self, data):
        """Nearly these bytes."""
        r = self.random
        out = bytearray(data)
        for _ in range(r.choice((0, 1, 1, 2, 5))):
            at = r.randrange(len(out) + 1)
            kind = r.randrange(7)
            if kind == 0 and out:
                out[at % len(out)] ^= 1 << r.randrange(8)
            elif kind == 1:
                del out[at:]
            elif kind == 2:
                out[at:at] = r.randbytes(r.choice((1, 1, 4, 40)))
            elif kind == 3:
                out[at:at + r.randrange(1, 20)] = r.choice(NUMBERS)
            elif kind == 4:
                del out[at:at + r.randrange(1, 9)]
            elif kind == 5:
                out[at:at] = bytes(out[:at][-64:]) * r.choice((1, 3))
            else:
                out[at:at] = r.choice((b"\0", b"\xff\xff\xff\xff\x0f", b"\x80", b"\xe2\x80\xae", b"\x1b[2J", b"\n", b'"'))
        return bytes(out[:4096])

    def subject(self, subject):
        r = self.random
        tokens = subject.split(".")
        if r.random() < 0.15:
            at = r.randrange(2, len(tokens)) if len(tokens) > 2 else len(tokens) - 1
            kind = r.randrange(3)
            if kind == 0:
                tokens[at] = r.choice(TOKENS)
            elif kind == 1:
                tokens.insert(at + 1, r.choice(TOKENS))
            else:
                del tokens[at]
        elif subject.startswith("$JS.ACK"):  # of what may be there
            tokens[-4 if tokens[-1] != "t" else -5] = str(r.randrange(1, 3000))
        elif tokens[-1] == TASK and r.random() < 0.9:
            tokens[-1] = f"{r.randrange(1000):032x}"
        return ".".join(tokens)

    def headers(self, kind):
        """Header lines; b"": none."""
        r = self.random
        lines = b""
        for _ in range(r.choice((0, 0, 1, 1, 2, 4)) if kind else 0):
            name, value = r.choice(HEADERS[kind])
            if r.random() < 0.3:
                value = self.bytes(value.encode()).replace(b"\r", b"").replace(b"\n", b"").decode("latin-1")
            if name == "Nats-Msg-Id" and r.random() < 0.8:
                value = str(r.randrange(100000))
            if r.random() < 0.05:
                name = self.bytes(name.encode()).translate(None, b"\r\n").decode("latin-1")
            lines += f"{name}: {value}\r\n".encode("latin-1", "replace")
        return lines

    def message(self):
        """What goes over the wire for one message."""
        _, subject, bodies, headers, replies = self.random.choices(TARGETS, self.weights)[0]
        return wire_form(self.subject(subject), self.random.choice(replies), self.headers(headers),
                         self.bytes(self.random.choice(self.bodies[bodies])))

    def answer(self, inbox):
        """For an inbox of a daemon, which ends in a wildcard."""
        r = self.random
        tail = r.choice((f"{r.randrange(64):x}-{r.randrange(4):x}", f"{r.randrange(1 << 40):x}", "", "x-y", "-", "ffffffff-ffffffff"))
        body = r.choice([b'{"stream":"AX_HIGH","seq":1}', b'{"error":{"code":503,"err_code":10077,"description":"x"}}',
                         b'{"type":"x","config":{"name":"AX_HIGH","max_msgs":-1},"state":{"messages":1,"last_seq":9}}',
                         *ADVISORIES])
        status = r.choice(("Status: 408", "Status: 409", "Status: 100", "Nats-Pending-Messages: -7", "Nats-Sequence: x"))
        return wire_form(inbox.rstrip("*>") + (tail or "x"), r.choice(SERVER_ANSWERS), f"{status}\r\n".encode(),
                         self.bytes(body))


def wire_form(subject, reply, headers, body):
    """As the protocol wants it: what would end a line, or an argument, is left out."""
    def argument(text):
        return b"".join(text.encode("utf-8", "replace").split()) or b"x"
    line = argument(subject) + (b" " + argument(reply) if reply else b"") + b" "
    if not headers:
        return b"PUB %b%d\r\n%b\r\n" % (line, len(body), body)
    block = b"NATS/1.0\r\n" + headers + b"\r\n"
    return b"HPUB %b%d %d\r\n%b%b\r\n" % (line, len(block), len(block) + len(body), block, body)


class Sender:
    """A connection that looks at errors only."""

    def __init__(self, port):
        self.port, self.errors, self.lost = port, [], 0

    async def connect(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        await self.reader.readline()
        self.writer.write(b'CONNECT {"verbose":false,"headers":true,"pedantic":false}\r\n')

    async def send(self, messages):
        """All of them have been handled by the server when this returns."""
        try:
            self.writer.write(b"".join(messages) + b"PING\r\n")
            while True:
                line = await asyncio.wait_for(self.reader.readline(), 60)
                if line == b"PONG\r\n":
                    return
                if line == b"PING\r\n":
                    self.writer.write(b"PONG\r\n")
                elif not line:
                    raise ConnectionResetError
                elif line.startswith(b"-ERR"):
                    self.errors.append(line.decode())
        except ConnectionError:  # the server did not like one of them, and does not say which
            self.lost += 1
            await self.connect()

    def close(self):
        self.writer.close()
