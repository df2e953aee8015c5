"""Looks at the servers while everything goes on: bounds of the queues, records as they come, hand-offs as they are
published; and at the end at what is left.
"""
import asyncio
import json
import math
import time

import nats
import nats.errors

import wire
from servers import quiet

SOURCE = ("AX_HIGH", "AX_NORMAL", "AX_LOW", "AX_WORK", "AX_LATER", "AX_SPILL")
QUEUES = ("AX_HIGH", "AX_NORMAL", "AX_LOW")
AWAY = (nats.errors.Error, asyncio.TimeoutError, OSError, KeyError, ValueError)
BUSY_S = 0.1  # an answer that takes longer shows that the machine has too much to do
STATES = {1: "done", 2: "cancelled", 3: "fired"}


class Watcher:
    def __init__(self, servers, log):
        self.servers, self.log = servers, log
        self.next_record, self.recorded, self.samples, self.highest = 1, 0, 0, {}
        # Not cancelled: a cancellation that meets an answer gets lost in asyncio.wait_for.
        self.jobs, self.over = [], False
        self.listeners, self.removals = [], set()

    async def start(self):
        if self.servers.size > 1:
            self.listeners = [await self._listen_at(server) for server in self.servers.servers]
        await self.servers.nc.subscribe("ax.work.>", cb=self._on_hand_off, pending_msgs_limit=-1,
                                        pending_bytes_limit=-1)
        self.jobs = [asyncio.create_task(self._bounds()), asyncio.create_task(self._records())]

    async def _listen_at(self, server):
        """At every server: what is sent to it is heard there, also while it is cut off from the others."""
        nc = await nats.connect(server.url, name="listener", max_reconnect_attempts=-1, reconnect_time_wait=0.1,
                                ping_interval=2, connect_timeout=2, error_cb=quiet)
        for subject in ("$JS.ACK.>", "$JS.API.STREAM.MSG.DELETE.*"):
            await nc.subscribe(subject, cb=self._on_removal, pending_msgs_limit=-1, pending_bytes_limit=-1)
        return nc

    async def _on_removal(self, msg):
        """What takes a message out of a work queue: an ack, a term, a deletion."""
        words = msg.subject.split(".")
        if words[1] == "API":
            stream, seq = words[-1], json.loads(msg.data or b"{}").get("seq")
        elif msg.data and msg.data[:4] not in (b"+ACK", b"+NXT", b"+TER"):
            return
        else:
            at = 2 if len(words) == 9 else 4  # both forms of the ack subject
            stream, seq = words[at], int(words[at + 3])
        if (stream, seq) not in self.removals:
            self.removals.add((stream, seq))
            self.log("removal", stream=stream, place=seq)

    async def _on_hand_off(self, msg):
        headers = msg.headers or {}
        self.log("handing", task=msg.subject.split(".")[-1], attempt=int(headers.get("Ax-Attempt", 0)),
                 id=headers.get("Nats-Msg-Id"), pool=msg.subject.split(".")[2])

    async def _bounds(self):
        while not self.over:
            for name in QUEUES:
                asked = time.time()
                try:
                    info = await self.servers.stream(name, 1)
                    stored, bound = info["state"]["messages"], info["config"]["max_msgs"]
                except AWAY:
                    continue
                self.samples += 1
                if time.time() - asked > BUSY_S:
                    self.log("fault", t=asked, kind="busy", who="machine", role="machine", until=time.time())
                self.highest[name] = max(self.highest.get(name, 0), stored)
                if stored > bound:
                    self.log("over bound", stream=name, stored=stored, bound=bound)
            await asyncio.sleep(0.05)

    async def records(self):
        """Takes in what has been recorded since the last time; the number."""
        found = await self.servers.read("KV_AX_DONE", self.next_record)
        for seq, subject, headers, body, at in found:
            if subject.startswith("$KV.AX_DONE.page."):
                entries = wire.record_batch(body)
                self.recorded += len(entries)
                for r in entries:
                    self.log("record", t=at, task=r["task"], state="done", attempt=r["attempt"], fence=r["fence"], seq=seq)
            else:
                fields = wire.record(body)
                self.recorded += 1
                self.log("record", t=at, task=subject.split(".")[-1], state=STATES.get(fields.get(1), "unreadable"),
                         attempt=fields.get(3, 0), fence=fields.get(4, 0), seq=seq)
            self.next_record = seq + 1
        return len(found)

    async def _records(self):
        while not self.over:
            try:
                if await self.records() > 0:
                    continue
            except AWAY:
                pass
            await asyncio.sleep(0.2)

    async def left(self):
        """What is still somewhere: {stream: messages, "stream/consumer": pending acks}, {} when there is nothing."""
        found = {}
        for name in SOURCE:
            messages = (await self.servers.stream(name))["state"]["messages"]
            if messages:
                found[name] = messages
            reply = await self.servers.api(f"CONSUMER.LIST.{name}", b'{"offset":0}')
            if reply.get("missing"):
                raise KeyError(f"no word of {reply['missing']}")
            for consumer in reply.get("consumers") or []:
                if consumer["num_ack_pending"]:
                    found[f"{name}/{consumer['name']}, not acknowledged"] = consumer["num_ack_pending"]
        return found

    async def picture(self):
        """All streams and consumers as the server describes them, for whoever looks for a cause."""
        found = {}
        for name in (*SOURCE, "KV_AX_DONE", "AX_DEAD", "KV_AX_LEASES"):
            found[name] = {"state": (await self.servers.stream(name))["state"]}
            for consumer in (await self.servers.api(f"CONSUMER.LIST.{name}", b'{"offset":0}')).get("consumers") or []:
                found[name][consumer["name"]] = {k: consumer.get(k) for k in (
                    "delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_waiting", "num_pending")}
        return found

    async def settled(self, seconds, check=lambda: None):
        """Waits until nothing is left, as seen twice; what is left when it has not become less for so many seconds."""
        end, left, quiet, least = time.monotonic() + seconds, {"?": 0}, 0, math.inf
        while True:
            check()
            try:
                left = await self.left()
                quiet = 0 if left else quiet + 1
                messages = sum(n for what, n in left.items() if "/" not in what)
                if messages < least:
                    end, least = time.monotonic() + seconds, messages
            except AWAY as error:
                left, quiet = {f"no answer: {error!r}": 0}, 0
            if quiet >= 2 or time.monotonic() > end:
                return left
            await asyncio.sleep(0.2)

    async def finish(self):
        """Stops watching; reads the rest of the records and all dead letters."""
        self.over = True
        await asyncio.gather(*self.jobs, return_exceptions=True)
        for nc in self.listeners:
            await nc.close()
        end = time.monotonic() + 20
        while True:
            try:
                last = (await self.servers.stream("KV_AX_DONE"))["state"]["last_seq"]
                await self.records()
                if self.next_record > last:
                    break
            except AWAY:
                pass
            assert time.monotonic() < end, "the records cannot be read to their end"
        first = 1
        while found := await self.servers.read("AX_DEAD", first):
            for seq, subject, headers, _, at in found:
                self.log("dead", t=at, task=subject.split(".")[-1], reason=headers.get("Ax-Reason"), seq=seq,
                         attempt=int(headers.get("Ax-Attempt", 0)))
                first = seq + 1
        for name in SOURCE:
            for seq, subject, headers, _, at in await self.servers.read(name, 1, 20):
                self.log("left", t=at, task=subject.split(".")[-1], stream=name, seq=seq, subject=subject,
                         headers={k: v for k, v in headers.items() if k.startswith(("Ax-", "Nats-Msg-Id"))})
        return {name: (await self.servers.stream(name))["state"] for name in (*QUEUES, "AX_DEAD", "KV_AX_DONE")}
