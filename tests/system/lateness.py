"""Shared by the tests of time: tasks due at a given moment, and how late each started.

Server and test share the host's clock, so a due time is given as Ax-At from time.time() and a start is read there, too:
"never early" is exact, and lateness includes the worker's own delay.
"""
import asyncio
import collections
import datetime
import os
import time

import wire


def rfc3339(seconds):
    """Unix time as RFC 3339, cut to microseconds."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Starts:
    """A worker's handler that notes when each key started, by the wall clock (moved by `shift`, if that is set)."""

    def __init__(self, shift=lambda: 0.0):
        self.at = collections.defaultdict(list)
        self.order = []
        self.shift = shift

    async def __call__(self, task):
        self.at[task.key].append(time.time() + self.shift())
        self.order.append(task.key)

    def lateness(self, due):
        """Seconds after its due time, for each key of due ({key: Unix time}). Each ran once, none before its time."""
        missing = [k for k in due if k not in self.at]
        assert not missing, f"{len(missing)} of {len(due)} never ran: {missing[:5]}"
        twice = {k: len(self.at[k]) for k in due if len(self.at[k]) > 1}
        assert not twice, f"{len(twice)} ran more than once: {list(twice.items())[:5]}"
        late = {k: self.at[k][0] - t for k, t in due.items()}
        early = {k: s for k, s in late.items() if s < 0}
        assert not early, f"{len(early)} started early: {sorted(early.items(), key=lambda x: x[1])[:5]}"
        return sorted(late.values())


def quantile(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def report(what, late):
    """Prints the distribution of sorted lateness; returns its 99th percentile."""
    p99 = quantile(late, 0.99)
    print(f"{what}: {len(late)} tasks, late by min {late[0] * 1e3:.0f} p50 {quantile(late, 0.5) * 1e3:.0f} "
          f"p90 {quantile(late, 0.9) * 1e3:.0f} p99 {p99 * 1e3:.0f} max {late[-1] * 1e3:.0f} ms", flush=True)
    return p99


def histogram(late, width=0.25):
    buckets = collections.Counter(int(s / width) for s in late)
    for i in range(max(buckets) + 1):
        if buckets[i]:
            print(f"  {i * width:6.2f} to {(i + 1) * width:6.2f} s late: {buckets[i]:6d} "
                  f"{'#' * max(1, 60 * buckets[i] // len(late))}")


async def submit_at(ax, due, priority="high", pool="email", side_by_side=64):
    """Submits each key of due with Ax-At; all are accepted as `later`."""
    gate = asyncio.Semaphore(side_by_side)

    async def one(key, when):
        async with gate:
            answer = await ax.submit("x", key, priority, pool, headers={"Ax-At": rfc3339(when)})
            assert answer["state"] == "later" and answer["duplicate"] is False, (key, answer)

    await asyncio.gather(*(one(k, t) for k, t in due.items()))


async def submit_batches(ax, due, priority="high", pool="email", body=b"x", size=1000, side_by_side=4):
    """The same in batches of the protobuf form: 100,000 tasks take seconds."""
    keys = list(due)
    gate = asyncio.Semaphore(side_by_side)

    async def one(part):
        async with gate:
            tasks = [wire.task(key=k, body=body, at=rfc3339(due[k])) for k in part]
            msg = await ax.nc.request(f"ax.submit.{priority}.{pool}", wire.batch(tasks),
                                      headers={"Ax-Schema": "ax.v1.TaskBatch"}, timeout=60)
            answers = wire.replies(msg.data)
            assert len(answers) == len(part), f"{len(answers)} answers to {len(part)} tasks"
            wrong = [a for a in answers if a["error"] or a["state"] != "later" or a["duplicate"]]
            assert not wrong, wrong[:3]

    await asyncio.gather(*(one(keys[i:i + size]) for i in range(0, len(keys), size)))


def resources(process):
    """Resident bytes and processor seconds of a running process."""
    with open(f"/proc/{process.p.pid}/status") as f:
        rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) * 1024
    with open(f"/proc/{process.p.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return rss, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
