"""Who can reach what: role × action, by direct publish, and by the reply subject of every request that the role can send.

The whole matrix is played on one server. The operator listens to everything in AX's account: a cell says whether a
message came to its subject there. The table is printed, and compared with what docs/security.md promises.
"""
import asyncio
import json

import wire
from harness import eventually

VICTIM = "invoice"  # a pool of the other team
BODY = b"secret of the other team"
ID = "k" + "5" * 31  # looks like a task id, belongs to nobody

# What somebody may want to reach: {n} makes each cell's subject its own.
ACTIONS = {
    "delete a stream": "$JS.API.STREAM.DELETE.DECOY_{n}",
    "purge a stream": "$JS.API.STREAM.PURGE.DECOY_{n}",
    "change a stream": "$JS.API.STREAM.UPDATE.DECOY_{n}",
    "delete a message": "$JS.API.STREAM.MSG.DELETE.DECOY_{n}",
    "read a message": "$JS.API.STREAM.MSG.GET.DECOY_{n}",
    "delete a consumer": "$JS.API.CONSUMER.DELETE.AX_WORK.x{n}",
    "pull another pool's task": "$JS.API.CONSUMER.MSG.NEXT.AX_HIGH.x{n}",
    "ack another pool's task": "$JS.ACK.AX_WORK." + VICTIM + ".1.{n}.1.1.0",
    "ack on behalf of dispatch": "$JS.ACK.AX_HIGH." + VICTIM + ".1.{n}.1.1.0",
    "replace settings": "$KV.AX_POOLS.x{n}",
    "forge a record": "$KV.AX_DONE.{id}",
    "forge a lease": "$KV.AX_LEASES.x{n}",
    "forge a queued task": "ax.queue.high." + VICTIM + ".{id}",
    "forge a delayed task": "ax.later.high." + VICTIM + ".{id}",
    "forge a due task": "ax.due.high." + VICTIM + ".{id}",
    "forge a spilled task": "ax.spill.high." + VICTIM + ".{id}",
    "forge a hand-off": "ax.work." + VICTIM + ".{id}",
    "forge a dead letter": "ax.dead." + VICTIM + ".{id}",
    "submit to another pool": "ax.submit.high.x{n}",
    "cancel another's task": "ax.cancel." + VICTIM + ".{id}",
    "revoke another's attempt": "ax.revoke." + VICTIM + ".{id}",
    "report for another pool": "ax.worker." + VICTIM + ".x{n}",
    "say acks are unrecorded": "ax.acked.x{n}",
    "say a queue is full": "ax.refused.high.x{n}",
    "say what groups hold": "ax.held.high.x{n}",
    "answer for AX": "ax.record.{id}",
    "write to another's inbox": "_INBOX.shop-producer.x{n}",
    "write to a daemon's inbox": "_INBOX_dispatch.x{n}",
}

# What somebody may want to overhear.
LISTENING = (">", "_INBOX.>", "_INBOX.shop-producer.>", "_INBOX.shop-invoice.>", "_INBOX_dispatch.>", "ax.>", "$JS.>",
             "$KV.>", "_R_.>", f"ax.revoke.{VICTIM}.*", f"$JS.ACK.AX_WORK.{VICTIM}.>",
             f"$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{VICTIM}")


def submissions(pool):
    """Requests of a producer: each road to an answer."""
    subject = f"ax.submit.high.{pool}"
    return {
        "submission": (subject, b"x", {}),
        "known key": (subject, b"x", {"Nats-Msg-Id": "matrix"}),
        "invalid": (subject, b"x", {"Ax-Delay": "never"}),
        "delayed": (subject, b"x", {"Ax-Delay": "1h"}),
        "batch": (subject, wire.batch([wire.task(body="b")]), {"Ax-Schema": "ax.v1.TaskBatch"}),
        "no batch": (subject, b"\xff\xff", {"Ax-Schema": "ax.v1.TaskBatch"}),
    }


def requests_of_worker(pool):
    return {
        "info": (f"$JS.API.CONSUMER.INFO.AX_WORK.{pool}", b"", {}),
        "pull": (f"$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{pool}", b'{"batch":1,"no_wait":true}', {}),
        "bad pull": (f"$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{pool}", b"{", {}),
        "ack": (f"$JS.ACK.AX_WORK.{pool}.1.1.1.1.0", b"+ACK", {}),
        "next": (f"$JS.ACK.AX_WORK.{pool}.1.1.1.1.0", b"+NXT", {}),
        "report": (f"ax.worker.{pool}.w", b'{"capacity":1,"busy":0}', {}),
    }


class Matrix:
    def __init__(self, ax):
        self.ax, self.n, self.seen, self.cells = ax, 0, set(), {}

    async def listen(self):
        """Everything that is published in AX's account."""
        nc = await self.ax.connect("matrix")

        async def note(msg):
            self.seen.add(msg.subject)
        await nc.subscribe(">", cb=note, pending_msgs_limit=-1, pending_bytes_limit=-1)
        await nc.flush()

    def subject(self, action):
        self.n += 1
        return ACTIONS[action].format(n=self.n, id="%032d" % self.n)

    async def play(self, role, nc, requests):
        """Every action, directly and as the reply subject of each request."""
        for action in ACTIONS:
            subject = self.subject(action)
            await nc.publish(subject, b"{}")
            self.cells[role, "direct", action] = subject
        for request, (to, body, headers) in requests.items():
            for action in ACTIONS:
                subject = self.subject(action)
                await nc.publish(to, body, reply=subject, headers=headers or None)
                self.cells[role, request, action] = subject
        await nc.flush()

    async def play_acks(self, role, nc, pool, submit):
        """Every action as the reply subject of the ack of a task that the worker has."""
        for _ in ACTIONS:
            await submit()
        inbox = nc.new_inbox()
        sub = await nc.subscribe(inbox)
        await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{pool}",
                         json.dumps({"batch": len(ACTIONS), "expires": 20_000_000_000}).encode(), reply=inbox)
        for action in ACTIONS:
            task = await sub.next_msg(timeout=20)
            assert task.reply.startswith("$JS.ACK."), (task.headers, task.data)
            subject = self.subject(action)
            await nc.publish(task.reply, b"+ACK", reply=subject)
            self.cells[role, "ack of a task", action] = subject
        await nc.flush()

    async def check_itself(self):
        """What may be published is seen: a matrix that sees nothing would prove nothing."""
        for action in ("delete a stream", "write to another's inbox", "report for another pool"):
            subject = self.subject(action)
            await self.ax.nc.publish(subject, b"{}")
            await eventually(lambda s=subject: s in self.seen, 5, f"{subject} is seen")

    async def settle(self, role_ncs):
        """Each role's last request is answered in its inbox, so what came before it has been dealt with."""
        for nc, (to, body, headers) in role_ncs:
            await nc.request(to, body, headers=headers or None, timeout=10)
        await eventually(self.quiet, 20, "nothing is under way in AX")

    async def quiet(self):
        """No cell has been reached for a while, and nothing is in flight at ingress."""
        before = self.reached()
        await asyncio.sleep(0.5)
        return self.reached() == before and self.ax.ingress.metric("ax_ingress_working") == 0

    def reached(self):
        return {cell for cell, subject in self.cells.items() if subject in self.seen}

    def print(self):
        """Rows: role and road; columns: actions, by number."""
        reached = self.reached()
        roads = list(dict.fromkeys((role, road) for role, road, _ in self.cells))
        print(f"{'role':16}{'road':14}" + " ".join(f"{i:2}" for i in range(1, len(ACTIONS) + 1)))
        for role, road in roads:
            marks = " ".join(" X" if (role, road, action) in reached else " ." for action in ACTIONS)
            print(f"{role:16}{road:14}{marks}")
        for i, action in enumerate(ACTIONS, 1):
            print(f"{i:4} {action:28}{ACTIONS[action]}")
        print("X: a message of the role's making came to that subject in AX's account", flush=True)


class Ears:
    """What a role hears on all that it would like to listen to."""

    def __init__(self):
        self.heard = []

    async def open(self, nc, own_inbox):
        async def note(msg):
            if not msg.subject.startswith(own_inbox):
                self.heard.append((msg.subject, bytes(msg.data)))
        for subject in LISTENING:
            await nc.subscribe(subject, cb=note)
        await nc.flush()


async def traffic(ax, producer, worker_seat, seconds=30):
    """The other team at work: a task is submitted, retried, run, a delayed one is cancelled."""
    ran = []

    async def handler(task):
        ran.append(task.key)
        return "nak" if task.attempt == 1 else "ack"
    await ax.pool(VICTIM, {"backoff": "100ms", "max_retry": 2})
    for i in range(5):
        await ax.submit(BODY, f"of-shop-{i}", "normal", VICTIM, nc=producer)
    later = await ax.submit(BODY, "later", "normal", VICTIM, headers={"Ax-Delay": "1h"}, nc=producer)
    await worker_seat.worker(VICTIM, handler)
    await eventually(lambda: len(ran) == 10, seconds, f"the other team's tasks run: {ran}")
    answer = await ax.nc.request(f"ax.cancel.{VICTIM}.{later['task']}", b"", timeout=10)
    assert json.loads(answer.data)["state"] == "cancelled", answer.data
