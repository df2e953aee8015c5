"""A worker that behaves as the body of its task says, and tells the sink all it does: workers.py NAME POOL SLOTS.

    ok       work, ack                         long   work for longer than the ack wait, saying in-progress, ack
    nak      nak the first start, then ok      hang   over the ack wait without a word, then work and ack (late ack)
    fail     nak always                        mute   first start: no ack at all, then ok
    term     terminate

Acks are requests: only what the server has confirmed is recorded as given.
Environment: NATS_URL, CHAOS_SINK (port), CHAOS_ACK_WAIT (seconds).
"""
import asyncio
import json
import os
import random
import sys
import time

import nats
import nats.errors

import sink

ACK_WAIT = float(os.environ["CHAOS_ACK_WAIT"])
LOST = (nats.errors.Error, asyncio.TimeoutError, OSError)


class Hand:
    """One hand-off, as this worker has it."""

    def __init__(self, worker, msg, got):
        self.worker, self.msg = worker, msg
        tokens = msg.reply.split(".")
        at = 4 if len(tokens) == 9 else 6  # both forms of the ack subject
        headers = msg.headers or {}
        self.about = {"task": headers.get("Ax-Task"), "fence": int(tokens[at + 1]), "who": worker.name}
        self.facts = {"attempt": int(headers.get("Ax-Attempt", 0)), "delivered": int(tokens[at]),
                      "handed": int(tokens[at + 3]) / 1e9, "key": headers.get("Ax-Key"), "pool": worker.pool,
                      "priority": headers.get("Ax-Priority"), "got": got}
        self.kind = json.loads(msg.data)["b"]

    async def ack(self, kind, data, patience=None):
        """Says it until the server confirms it, or gives up after a while."""
        self.worker.sink.tell(f"{kind}ing", **self.about)
        end = time.monotonic() + (ACK_WAIT if patience is None else patience)
        while True:
            try:
                await self.worker.nc.request(self.msg.reply, data, timeout=0.5)
                self.worker.sink.tell(kind, **self.about)
                return
            except LOST:
                if time.monotonic() > end:
                    self.worker.sink.tell("unsure", ack=kind, **self.about)
                    return
                await asyncio.sleep(0.05)

    async def apply(self):
        """True unless a newer attempt has started: then this one is over, and gives no ack."""
        return await self.worker.sink.ask("apply", **self.about) != "stale"

    async def work(self):
        before = int(await self.worker.sink.ask("start", **self.about, **self.facts))
        if self.kind == "hang" and before == 0:
            await asyncio.sleep(ACK_WAIT * 1.3)
        elif self.kind == "long":
            for _ in range(5):
                await asyncio.sleep(ACK_WAIT * 0.3)
                await self.ack("progress", b"+WPI", 0)
        else:
            await asyncio.sleep(random.random() ** 3 * 0.05)
        if self.kind == "fail" or (self.kind == "nak" and before == 0):
            return await self.ack("nak", b"-NAK")
        if self.kind == "term":
            return await self.ack("term", b"+TERM poison")
        if not await self.apply():
            return None
        if self.kind == "mute" and before == 0:
            return self.worker.sink.tell("mute", **self.about)
        return await self.ack("ack", b"")


class Worker:
    def __init__(self, name, pool):
        self.name, self.pool = name, pool

    async def run(self, slots):
        async def quiet(*_):
            pass
        self.sink = await sink.Client(int(os.environ["CHAOS_SINK"])).connect()
        self.nc = await nats.connect(os.environ["NATS_URL"].split(","), name=self.name, max_reconnect_attempts=-1,
                                     reconnect_time_wait=0.1, ping_interval=2, error_cb=quiet, connect_timeout=2,
                                     allow_reconnect=True)
        await asyncio.gather(*(self.slot(4 if i % 4 == 3 else 1) for i in range(slots)))

    async def slot(self, batch):
        came = asyncio.Queue()

        async def on_message(msg):
            came.put_nowait((time.time(), msg))
        inbox = self.nc.new_inbox()
        await self.nc.subscribe(inbox, cb=on_message, pending_msgs_limit=-1, pending_bytes_limit=-1)
        request = json.dumps({"batch": batch, "expires": 1_000_000_000}).encode()
        while True:
            try:
                await self.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{self.pool}", request, reply=inbox)
                for _ in range(batch):
                    got, msg = await asyncio.wait_for(came.get(), 2)
                    if not msg.reply:  # 404, 408, 409: this pull is over
                        if (msg.headers or {}).get("Status") != "408":
                            await asyncio.sleep(0.05)
                        break
                    await Hand(self, msg, got).work()
            except LOST:
                await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(Worker(*sys.argv[1:3]).run(int(sys.argv[3])))
