"""Two tenants at one queue: one that pushes without end, retrying on busy answers, and one with few tasks. Shared by
test_group_share.py and the long form, tests/bench/tenants.py (make tenants)."""
import asyncio
import collections
import random
import statistics
import time

import nats.errors

from harness import Refused, hint_seconds


class Tenant:
    """Submits through its own connection and remembers how long each of its tasks took to be accepted and to start."""

    def __init__(self, ax, name, pool="email", priority="low"):
        self.ax, self.name, self.pool, self.priority = ax, name, pool, priority
        self.headers = {"Ax-Group": name} if name else {}
        self.accepted = self.busy = self.offered = 0
        self.first_busy = None
        self.pushed_back = []  # seconds from the first offer to the acceptance
        self.waits = []        # seconds from its acceptance to its hand-off, by the clock of the server
        self.reasons = collections.Counter()

    async def submit(self, nc, body=b""):
        self.offered += 1
        begun = time.monotonic()
        while True:
            try:
                await self.ax.submit(body, None, self.priority, self.pool, headers=self.headers, nc=nc)
                break
            except Refused as refused:
                assert refused.code == 503, refused
                self.busy += 1
                self.first_busy = self.first_busy or time.monotonic()
                self.reasons["share" if "its share is" in str(refused) else "full"] += 1
                await asyncio.sleep(hint_seconds({"error": refused.error}) * random.uniform(0.8, 1.2))
            except nats.errors.Error:
                await asyncio.sleep(0.05)
        self.accepted += 1
        self.pushed_back.append(time.monotonic() - begun)

    def started(self, task):
        """A task is handed over when a worker asks, so its wait is over then; how late Python hears of it does not count."""
        handed_ns = int(task.msg.reply.split(".")[7])
        self.waits.append((handed_ns - int(task.headers["Ax-Submitted"])) / 1e9)

    async def push(self, count=None, producers=16):
        """So many tasks, or until cancelled, by so many producers at a time."""
        nc = await self.ax.connect(self.name or "plain")

        async def producer():
            while count is None or self.offered < count:
                await self.submit(nc)
        try:
            await asyncio.gather(*(producer() for _ in range(producers)))
        finally:
            await nc.close()

    async def trickle(self, count, every):
        """One after the other, at this pace."""
        nc = await self.ax.connect(self.name)
        tasks = []
        for _ in range(count):
            tasks.append(asyncio.create_task(self.submit(nc)))
            await asyncio.sleep(every)
        await asyncio.gather(*tasks)
        await nc.close()

    def forget(self):
        self.pushed_back, self.waits = [], []
        self.busy = 0
        self.reasons.clear()

    def line(self):
        back, waits = sorted(self.pushed_back), sorted(self.waits)
        return (f"{self.name:6} accepted {self.accepted}, told busy {self.busy} {dict(self.reasons)}, until accepted p50 "
                f"{quantile(back, .5) * 1e3:.1f} ms p99 {quantile(back, .99) * 1e3:.1f} ms, until started p50 "
                f"{quantile(waits, .5) * 1e3:.1f} ms p99 {quantile(waits, .99) * 1e3:.1f} ms")


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


def median(values):
    return statistics.median(values) if values else float("nan")


async def workers(ax, tenants, pool="email", count=8, seconds=0.01):
    """Workers that take this long for a task; returns the names of the groups in the order of their starts."""
    by_name = {t.name: t for t in tenants}
    order = []

    async def handler(task):
        name = task.headers.get("Ax-Group", "")
        order.append(name)
        if name in by_name:
            by_name[name].started(task)
        await asyncio.sleep(seconds)
    worker = await ax.worker(pool, handler, pulls=count)
    return worker, order


async def holdings(ax, stream="AX_LOW", pool="email"):
    """What each group holds of a queue, read from its messages."""
    counts = collections.Counter()
    state = (await ax.stream(stream))["state"]
    for seq in range(state["first_seq"], state["last_seq"] + 1):
        try:
            m = await ax.js.get_msg(stream, seq, direct=True)
            counts[(m.headers or {}).get("Ax-Group", "")] += 1
        except Exception:  # noqa: BLE001  finished meanwhile
            pass
    return counts
