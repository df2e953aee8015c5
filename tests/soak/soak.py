"""Flat memory: a steady load of keyed and keyless tasks, some of them nakked, delayed, given up or offered twice, for
SOAK_SECONDS (180). Every 10 s the resident memory of both daemons and the server is printed.

Fails if a daemon's memory, on average over the last third after the warm-up (a fifth of the time, at least 30 s), is more
than 10% above that over the first third, not counting what it keeps of finished tasks for as long as they are remembered (the
Bloom filters and the index of batches, about 10 bytes a task; `of keys`). Why 10%: what belongs to the load is constant, so only
what is kept per task could grow, and at 300 tasks a second already 32 bytes of it are 35 MB an hour, twice a daemon's size; the allocator's give and take
stays below 3%. The Bloom filters are made large enough at the start (they would double several times in an hour); a
run over midnight UTC gets one more filter for the new day and is not judged fairly.
"""
import asyncio
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
from harness import Refused, eventually, hint_seconds, run  # noqa: E402
import nats.errors  # noqa: E402

SECONDS = float(os.environ.get("SOAK_SECONDS") or 180)
RATE = float(os.environ.get("SOAK_RATE") or 300)
EVERY_S = 10
LIMIT = 0.10
FILTER = ("--filter-entries", "8000000")


def rss_mib(process):
    with open(f"/proc/{process.p.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def remembered_mib(daemon, prefix):
    """What is there for finished tasks and goes with their window: the filters and the index of batches."""
    return sum(daemon.metric(prefix + name) or 0 for name in ("filter_bytes", "index_bytes")) / 2**20


class Load:
    def __init__(self, ax):
        self.ax, self.offered, self.busy, self.done, self.number = ax, 0, 0, 0, 0
        self.at_work = set()

    async def handle(self, task):
        word = task.body.decode().split()[0]
        if word == "nak" and task.attempt == 1:
            return "nak"
        if word == "term":
            return "term", "soak"
        self.done += 1
        return "ack"

    async def one(self, number):
        chance = random.random()
        word = "nak" if chance < 0.05 else "term" if chance < 0.06 else "ack"
        key = f"key-{number}" if number % 2 else None
        headers = {"Ax-Delay": f"{random.randint(200, 5000)}ms"} if 0.06 <= chance < 0.16 else {"Traceparent": "00-ab"}
        for _ in range(2 if key and chance > 0.9 else 1):
            while True:
                try:
                    await self.ax.submit(f"{word} {'x' * random.randint(10, 1000)}", key, random.choice(["high", "low"]),
                                         headers=headers)
                    break
                except Refused as refused:
                    self.busy += 1
                    await asyncio.sleep(hint_seconds({"error": refused.error}))
                except nats.errors.Error:
                    await asyncio.sleep(0.1)
        self.offered += 1

    async def offer(self, until):
        """RATE submissions a second, whatever the answers take."""
        began = time.monotonic()
        while time.monotonic() < until:
            while self.number < (time.monotonic() - began) * RATE and len(self.at_work) < 2000:
                self.number += 1
                task = asyncio.create_task(self.one(self.number))
                self.at_work.add(task)
                task.add_done_callback(self.at_work.discard)
            await asyncio.sleep(0.005)
        await asyncio.gather(*self.at_work)


async def watch(ax, load, until, samples):
    began = time.monotonic()
    print(f"{'seconds':>8} {'offered':>9} {'done':>9} {'ingress MiB':>12} {'of keys':>8} {'dispatch MiB':>13} {'of keys':>8} {'server MiB':>11}", flush=True)
    while time.monotonic() < until:
        await asyncio.sleep(EVERY_S)
        at = time.monotonic() - began
        sizes = [rss_mib(p) for p in (ax.ingress, ax.dispatch, ax.server)]
        kept = [remembered_mib(ax.ingress, "ax_ingress_"), remembered_mib(ax.dispatch, "ax_")]
        samples.append((at, sizes[0] - kept[0], sizes[1] - kept[1]))
        print(f"{at:8.0f} {load.offered:9d} {load.done:9d} {sizes[0]:12.1f} {kept[0]:8.1f} {sizes[1]:13.1f} {kept[1]:8.1f} "
              f"{sizes[2]:11.1f}", flush=True)
        for worker in ax.workers:
            worker.starts.clear()
            worker.finished.clear()
        await ax.api("STREAM.PURGE.AX_DEAD")


def judge(samples):
    warm = max(30, SECONDS / 5)
    judged = [s for s in samples if s[0] >= warm]
    third = len(judged) // 3
    assert third >= 2, f"{SECONDS:g} s are too short to judge: 120 at least"
    grown = []
    for column, name in ((1, "ax-ingress"), (2, "ax-dispatch")):
        first = sum(s[column] for s in judged[:third]) / third
        last = sum(s[column] for s in judged[-third:]) / third
        change = last / first - 1
        print(f"{name}: {first:.1f} MiB in the first third, {last:.1f} MiB in the last, {change:+.1%}")
        if change > LIMIT:
            grown.append(f"{name} grew by {change:.1%}, allowed are {LIMIT:.0%}")
    assert not grown, grown


async def test(ax):
    await ax.pool("email", {"backoff": "200ms", "window": "1m", "max_retry": 3})
    load, samples = Load(ax), []
    for _ in range(2):
        await ax.worker(handler=load.handle, pulls=8, batch=4)
    until = time.monotonic() + SECONDS
    await asyncio.gather(load.offer(until), watch(ax, load, until, samples))

    async def ended():
        assert await ax.unfinished() + await ax.messages("AX_WORK") == 0
        return True
    await eventually(ended, 60, "every task has ended")
    print(f"{load.offered} submissions, {load.done} tasks done, {load.busy} times busy")
    judge(samples)


run(test, seconds=SECONDS + 200, ingress_args=FILTER, dispatch_args=FILTER)
