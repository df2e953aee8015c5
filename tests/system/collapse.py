"""A database that collapses when more than a certain number of queries run at a time, behind 50 workers; and one run
over it: the best that can be had, a fixed rate, an adaptive one, a dip of the database and what follows. Shared by
tests/system/test_collapse.py and tests/bench/collapse.py."""
import asyncio
import collections
import heapq
import math
import random
import re
import time

import wire
from harness import eventually

WORKERS = 50
BEST_AT = 20     # queries at a time
DIPPED_AT = 8    # while something else uses the database
QUERY_S = 0.125   # of an average query, without pressure
RATE = 240       # configured: what somebody believed it stands; 160 is what it does
BURST = 16
KEPT_WAITING = 600


class Database:
    """All queries share it evenly. Up to best_at of them run at full speed; beyond, everything takes (n / best_at)³ times
    as long: n queries get less done than best_at did. Its own time goes on exactly, however late this process wakes up."""

    def __init__(self, seed=17):
        self.best_at = BEST_AT
        self.random = random.Random(seed)
        self.running = []  # (virtual time of the end, number, future)
        self.virtual, self.at = 0.0, time.monotonic()
        self.number = 0
        self.done = []     # (end, seconds it took)
        self.timer = None

    def set_best_at(self, n):
        self._advance()
        self.best_at = n
        self._arm()

    def _speed(self):
        n = len(self.running)
        return 1.0 if n <= self.best_at else (self.best_at / n) ** 3

    def _advance(self):
        now = time.monotonic()
        while self.running:
            end, _, begun, future = self.running[0]
            due = self.at + (end - self.virtual) / self._speed()
            if due > now:
                break
            self.virtual, self.at = end, due
            heapq.heappop(self.running)
            self.done.append((due, due - begun))
            if not future.done():
                future.set_result(None)
        self.virtual += (now - self.at) * self._speed()
        self.at = now

    def _arm(self):
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None
        if self.running:
            wait = max(0.0, (self.running[0][0] - self.virtual) / self._speed())
            self.timer = asyncio.get_running_loop().call_later(wait, self._wake)

    def _wake(self):
        self._advance()
        self._arm()

    async def query(self):
        self._advance()
        spread = 0.2
        work = QUERY_S * math.exp(self.random.gauss(0, spread) - spread * spread / 2)
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self.running, (self.virtual + work, self.number, self.at, future))
        self._arm()
        await future

    def between(self, begin, end):
        """Queries per second that ended in this time, and their 99th percentile in seconds."""
        took = sorted(s for t, s in self.done if begin <= t < end)
        return len(took) / (end - begin), took[int(len(took) * 0.99)] if took else math.inf


class Run:
    def __init__(self, ax, factor=1.0):
        self.ax, self.factor = ax, factor
        self.db = Database()
        self.starts = []   # when the server stored each hand-off, seconds
        self.samples = []  # (time, in flight, limit, rate now)
        self.phases = []   # (name, begin, end)
        self.rows = []
        self.submitted = 0
        self.lags = []     # by how much this process woke up too late

    async def _handler(self, task):
        tokens = task.msg.reply.split(".")
        self.starts.append(int(tokens[7 if len(tokens) == 9 else 9]) / 1e9)
        await self.db.query()

    async def _feed(self):
        """There is always something to do."""
        while True:
            missing = KEPT_WAITING - (self.submitted - len(self.starts))
            if missing > KEPT_WAITING / 4:
                msg = await self.ax.nc.request("ax.submit.normal.db", wire.batch([wire.task(body=b"x")] * missing),
                                               headers={"Ax-Schema": "ax.v1.TaskBatch"}, timeout=60)
                answers = wire.replies(msg.data)
                assert len(answers) == missing and not any(a["error"] for a in answers), answers[:1]
                self.submitted += missing
            await asyncio.sleep(0.1)

    async def _sample(self):
        while True:
            text = (await asyncio.to_thread(self.ax.dispatch.get, "/metrics"))[1]
            limit, rate = (float(found[1]) if found else None for found in (
                re.search(rf'^{name}{{pool="db"}} (\S+)$', text, re.M) for name in ("ax_inflight_limit", "ax_rate_limit")))
            self.samples.append((time.monotonic(), len(self.db.running), limit, rate))
            await asyncio.sleep(0.25)

    async def _notice_lag(self):
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.02)
            self.lags.append(time.monotonic() - before - 0.02)

    def disturbed(self):
        """The machine had other things to do: run times were not those of the database alone."""
        late = sum(lag > 0.03 for lag in self.lags)
        print(f"woke up more than 30 ms late {late} of {len(self.lags)} times, worst {1e3 * max(self.lags):.0f} ms")
        return late > 0.01 * len(self.lags)

    async def _pass(self, seconds):
        await asyncio.sleep(seconds)  # this measures: there is no condition to wait for
        return time.monotonic()

    async def _phase(self, name, settle, measure):
        """settle: seconds, or something to wait for. Throughput and p99 of the seconds after it."""
        begin = time.monotonic()
        await (settle if asyncio.iscoroutine(settle) else self._pass(settle * self.factor))
        since = time.monotonic()
        end = await self._pass(measure * self.factor)
        self.phases.append((name, begin, end))
        rate, p99 = self.db.between(since, end)
        self.rows.append((name, since - begin, end - since, rate, p99))
        return rate, p99

    def _reaches(self, wanted, over=3.0):
        """Throughput over the last seconds."""
        return lambda: self.db.between(time.monotonic() - over, time.monotonic())[0] >= wanted

    async def leave(self):
        """Lets the workers finish what they have and go."""
        self.db.set_best_at(WORKERS)
        for worker in self.workers:
            worker.stopping = True
            await asyncio.wait(worker.slots, timeout=60)
            self.ax.workers.remove(worker)
            await worker.stop()

    async def go(self):
        ax, db = self.ax, self.db
        await ax.pool("db", {"batch": 1}, max_ack_pending=BEST_AT)
        self.workers = [await ax.worker("db", self._handler, pulls=WORKERS // 5, name=f"worker-{i}") for i in range(5)]
        background = [asyncio.create_task(c()) for c in (self._feed, self._sample, self._notice_lag)]
        try:
            # Somebody who knows the database well: 20 at a time, exactly.
            self.best = await self._phase("20 at a time", 1.5, 5)
            await ax.edit_consumer("AX_WORK", "db", max_ack_pending=1000)
            await ax.put_pool("db", {"batch": 1, "rate": RATE, "burst": BURST})
            self.fixed = await self._phase("fixed rate", 2.5, 3)
            self.turned_on = time.time()
            await ax.put_pool("db", {"batch": 1, "rate": RATE, "burst": BURST, "adaptive": True})
            self.found = await self._phase(
                "adaptive rate", eventually(self._reaches(0.9 * self.best[0]), 40, "the rate adapts", 0.1), 10)
            db.set_best_at(DIPPED_AT)
            self.dipped = await self._phase("dip to 8", 3, 3)
            db.set_best_at(BEST_AT)
            begun = time.monotonic()
            await eventually(self._reaches(0.9 * self.best[0]), 60, "the rate comes back after the dip", 0.1)
            self.recovered_s = time.monotonic() - begun
            self.after = await self._phase("after the dip", 0, 10)
        finally:
            for task in background:
                task.cancel()
            for result in await asyncio.gather(*background, return_exceptions=True):
                if isinstance(result, Exception) and not isinstance(result, asyncio.CancelledError):
                    raise result

    def table(self):
        lines = [f"{'':16} {'settled for':>11} {'measured':>9} {'tasks/s':>8} {'of best':>8} {'p99':>8} {'of best':>8}"]
        best, best_p99 = self.best
        for name, settled, measured, rate, p99 in self.rows:
            lines.append(f"{name:16} {settled:9.1f} s {measured:7.1f} s {rate:8.1f} {100 * rate / best:6.0f} % "
                         f"{p99 * 1e3:5.0f} ms {p99 / best_p99:7.1f}x")
        lines.append(f"back at 90 % of the best (over 3 s) {self.recovered_s:.1f} s after the end of the dip")
        return "\n".join(lines)

    def check(self):
        best, best_p99 = self.best
        assert self.fixed[0] <= 0.5 * best, f"the fixed rate did not collapse: {self.fixed[0]:.0f}/s of {best:.0f}/s"
        for name, (rate, p99) in (("adaptive", self.found), ("after the dip", self.after)):
            assert rate >= 0.9 * best, f"{name}: {rate:.1f}/s is less than 90% of {best:.1f}/s"
            assert p99 <= 3 * best_p99, f"{name}: p99 {p99 * 1e3:.0f} ms is more than 3 times {best_p99 * 1e3:.0f} ms"
        assert self.recovered_s <= 30, f"{self.recovered_s:.1f} s to recover from the dip"

    def starts_over_bucket(self):
        """Worst window since the rate adapts: starts beyond burst + rate · t + 1."""
        times = sorted(t for t in self.starts if t > self.turned_on)
        low, worst = math.inf, 0.0
        for j, t in enumerate(times):
            low = min(low, j - RATE * t)
            worst = max(worst, (j - RATE * t) - low + 1 - BURST - 1)
        return worst

    def svg(self):
        begin, end = self.phases[0][1], self.phases[-1][2]
        step = 0.5
        slots = int((end - begin) / step)
        took = collections.defaultdict(list)
        for t, s in self.db.done:
            took[int((t - begin) / step)].append(s)
        middle = [(i + 0.5) * step for i in range(slots)]
        panels = [
            ("tasks per second", False, [("#1f6f8b", "done", [(x, len(took[i]) / step) for i, x in enumerate(middle)]),
                                         ("#c8553d", "rate now", [(t - begin, rate) for t, _, _, rate in self.samples if rate])]),
            ("run time in ms (log)", True, [("#1f6f8b", "p99", [(x, 1e3 * sorted(took[i])[int(len(took[i]) * 0.99)])
                                                                for i, x in enumerate(middle) if took[i]]),
                                            ("#8a8a8a", "mean", [(x, 1e3 * sum(took[i]) / len(took[i]))
                                                                 for i, x in enumerate(middle) if took[i]])]),
            ("queries at a time", False, [("#1f6f8b", "running", [(t - begin, n) for t, n, _, _ in self.samples]),
                                          ("#c8553d", "limit", [(t - begin, limit) for t, _, limit, _ in self.samples if limit])]),
        ]
        return draw(panels, [(n, b - begin, e - begin) for n, b, e in self.phases], end - begin)


def draw(panels, phases, seconds):
    """Line charts one below the other over the same time, as SVG. panels: (title, logarithmic, [(colour, name, points)])."""
    left, width, height, gap = 70, 900, 150, 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {40 + len(panels) * (height + gap)}" '
           'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>']

    def x(t):
        return left + width * max(0, min(t, seconds)) / seconds

    bottom_of_all = 40 + len(panels) * (height + gap) - gap
    for i, (name, begin, end) in enumerate(phases):
        out.append(f'<rect x="{x(begin):.1f}" y="30" width="{x(end) - x(begin):.1f}" height="{bottom_of_all - 30}" '
                   f'fill="{"#f2f2ee" if i % 2 else "#ffffff"}"/><text x="{x(begin) + 4:.1f}" y="24">{name}</text>')
    for number, (title, logarithmic, lines) in enumerate(panels):
        top = 40 + number * (height + gap)
        values = [v for _, _, points in lines for _, v in points] or [1]
        low, high = (10 ** math.floor(math.log10(max(min(values), 1e-3))), 10 ** math.ceil(math.log10(max(values)))) \
            if logarithmic else (0, max(values) * 1.05)

        def y(v, top=top, low=low, high=high, logarithmic=logarithmic):
            part = (math.log(max(v, low) / low) / math.log(high / low)) if logarithmic else (v - low) / (high - low)
            return top + height * (1 - part)

        marks = [10 ** k for k in range(round(math.log10(low)), round(math.log10(high)) + 1)] if logarithmic else \
            [high / 1.05 * k / 4 for k in range(5)]
        for mark in marks:
            out.append(f'<line x1="{left}" x2="{left + width}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" stroke="#dddddd"/>'
                       f'<text x="{left - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:.0f}</text>')
        out.append(f'<text x="{left}" y="{top - 4}" font-weight="bold">{title}</text>')
        for k, (colour, name, points) in enumerate(lines):
            path = " ".join(f"{x(t):.1f},{y(v):.1f}" for t, v in points)
            out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.4" points="{path}"/>'
                       f'<text x="{left + 130 + 80 * k}" y="{top - 4}" fill="{colour}">{name}</text>')
        for t in range(0, int(seconds) + 1, 10):
            out.append(f'<text x="{x(t):.1f}" y="{top + height + 14}" text-anchor="middle" fill="#777777">{t} s</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
