"""Producers: submit keyed and keyless tasks, over and over until there is an answer: producers.py SEED RATE ELSEWHERE.

Of the keyed ones some are offered by three producers at once, some again long after they were done, and the share ELSEWHERE
of them under another priority as well. On SIGTERM no new ones are made, those without an answer are followed up, and the process ends with 0.
Environment: NATS_URL, CHAOS_SINK.
"""
import asyncio
import json
import os
import random
import re
import signal
import sys
import time

import nats
import nats.errors

import sink

# Shares of what is submitted: pools, priorities, and what the body asks of the worker.
POOLS = {"open": 62, "rated": 22, "lang": 12, "shell": 4}
PRIORITIES = {"high": 30, "normal": 45, "low": 25}
KINDS = {"ok": 880, "nak": 50, "fail": 15, "term": 15, "hang": 12, "mute": 16, "long": 12}
# What the workers of the examples understand, by their bodies; `ax work` renews the lease, and has no silence.
PLAIN = {"ok": 960, "fail": 20, "term": 20}
SHELL = {"ok": 880, "nak": 80, "fail": 20, "term": 20}
KEYLESS, THRICE, DELAYED, AGAIN = 0.12, 0.06, 0.05, 0.06


def pick(rng, shares):
    return rng.choices(list(shares), list(shares.values()))[0]


class Task:
    def __init__(self, number, rng):
        self.pool, self.priority = pick(rng, POOLS), pick(rng, PRIORITIES)
        self.kind = pick(rng, {"lang": PLAIN, "shell": SHELL}.get(self.pool, KINDS))
        self.key = None if rng.random() < KEYLESS else f"key-{number}"
        self.delay = rng.randint(300, 2500) if rng.random() < DELAYED else 0
        if self.pool == "lang":
            self.body = {"fail": b"fail", "term": b""}.get(self.kind, f"body {number}".encode())
        else:
            self.body = json.dumps({"b": self.kind, "n": number}).encode()

    def headers(self):
        headers = {"Nats-Msg-Id": self.key} if self.key else {}
        if self.delay:
            headers["Ax-Delay"] = f"{self.delay}ms"
        if self.kind == "fail":
            headers["Ax-Max-Retry"] = "2"
        return headers or None


class Producers:
    def __init__(self, seed, rate, elsewhere):
        self.rng, self.rate, self.elsewhere = random.Random(seed), rate, elsewhere
        self.under_way, self.stopping, self.old = set(), asyncio.Event(), []

    async def offer(self, nc, task, priority, why):
        subject, number = f"ax.submit.{priority}.{task.pool}", 0
        while True:
            number += 1
            asked = time.time()
            try:
                msg = await nc.request(subject, task.body, headers=task.headers(), timeout=2)
                reply = json.loads(msg.data)
            except (nats.errors.Error, asyncio.TimeoutError, OSError, json.JSONDecodeError) as error:
                self.sink.tell("unanswered", key=task.key, error=repr(error)[:80])
                await asyncio.sleep(0.1 + random.random() * 0.2)
                continue
            error = reply.get("error")
            if error is None:
                self.sink.tell("accepted", task=reply["task"], key=task.key, pool=task.pool, priority=priority,
                               kind=task.kind, stream=reply["stream"], seq=reply["seq"], dup=reply["duplicate"],
                               state=reply["state"], why=why, offer=number, asked=asked, delay=task.delay)
                return
            if error["code"] == 400:
                self.sink.tell("refused", key=task.key, error=error)
                return
            self.sink.tell("busy", key=task.key, priority=priority, code=error["err_code"],
                           text=error["description"][:120])
            hint = re.search(r"retry in (\d+)ms", error["description"])
            # The hint is long after an outage, when the queue had not moved: no reason to let a run wait.
            await asyncio.sleep(min(int(hint[1]) / 1000 if hint else 0.2, 1) * (0.7 + random.random()))

    async def submit(self, number):
        task = Task(number, self.rng)
        offers = [(task.priority, "first")]
        if task.key and self.rng.random() < THRICE:
            offers += [(task.priority, "at once")] * 2
        elif task.key and task.kind == "ok" and self.rng.random() < self.elsewhere:
            offers.append((pick(self.rng, PRIORITIES), "other priority"))
        later = task.key and self.rng.random() < AGAIN
        await asyncio.gather(*(self.offer(self.rng.choice(self.connections), task, p, why) for p, why in offers))
        if later:
            self.old.append((time.monotonic() + 1 + random.random() * 15, task))

    def begin(self, work):
        job = asyncio.create_task(work)
        self.under_way.add(job)
        job.add_done_callback(self.under_way.discard)

    def offer_old(self):
        now = time.monotonic()
        ripe = [task for at, task in self.old if at <= now]
        self.old = [(at, task) for at, task in self.old if at > now]
        for task in ripe:
            self.begin(self.offer(random.choice(self.connections), task, task.priority, "late"))

    async def run(self):
        async def quiet(*_):
            pass
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.stopping.set)
        self.sink = await sink.Client(int(os.environ["CHAOS_SINK"])).connect()
        self.connections = [await nats.connect(
            os.environ["NATS_URL"].split(","), name=f"producer-{i}", max_reconnect_attempts=-1, reconnect_time_wait=0.1,
            ping_interval=2, connect_timeout=2, error_cb=quiet, pending_size=1 << 26) for i in range(4)]
        number, begun = 0, time.monotonic()
        while not self.stopping.is_set():
            # A backlog of what nobody answers stays bounded; then what was missed is not made up for.
            due = (time.monotonic() - begun) * self.rate
            if len(self.under_way) > 400:
                begun, number = time.monotonic(), number
                begun -= number / self.rate
            else:
                for number in range(number, int(due)):
                    self.begin(self.submit(number + 1))
                number = max(number, int(due))
            self.offer_old()
            await asyncio.sleep(0.02)
        while self.under_way:
            await asyncio.wait(list(self.under_way))
        for _, task in self.old:
            self.begin(self.offer(random.choice(self.connections), task, task.priority, "late"))
        while self.under_way:
            await asyncio.wait(list(self.under_way))
        await self.sink.close()


if __name__ == "__main__":
    asyncio.run(Producers(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])).run())
