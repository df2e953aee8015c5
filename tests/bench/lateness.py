"""Delayed tasks in numbers, by hand: how late 100,000 start that are due in one second, and what waiting costs.

    AX_BIN_DIR=$PWD/build/bin scripts/run-test tests/bench/lateness.py                     # 100,000 due in one second
    AX_BIN_DIR=$PWD/build/bin scripts/run-test tests/bench/lateness.py --waiting 200000    # 200,000 wait for an hour
    AX_BIN_DIR=$PWD/build/bin scripts/run-test tests/bench/lateness.py --tasks 1000 --over 10

All must run, none twice, none before its time. The worker is Python and needs about as much processor as AX does.
Nothing else should run on the machine.
"""
import argparse
import asyncio
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))

from harness import eventually, run  # noqa: E402
from lateness import Starts, histogram, quantile, report, resources, submit_batches  # noqa: E402

options = argparse.ArgumentParser()
options.add_argument("--tasks", type=int, default=100000)
options.add_argument("--over", type=float, default=1.0, help="seconds over which they come due")
options.add_argument("--priority", default="high")
options.add_argument("--queue", type=int, help="max_msgs of the queue, if not its default")
options.add_argument("--waiting", type=int, help="let so many wait, and measure memory and idle processor time")
options = options.parse_args()


async def due_together(ax):
    await ax.pool("email", {"batch": 100})
    if options.queue:
        await ax.edit_stream(f"AX_{options.priority.upper()}", max_msgs=options.queue)
    starts = Starts()
    worker = await ax.worker(handler=starts, pulls=8, batch=100)
    begin = time.time() + 5 + options.tasks / 4000
    due = {f"t-{i}": begin + i * options.over / options.tasks for i in range(options.tasks)}
    await submit_batches(ax, due, options.priority)
    print(f"{options.tasks} submitted, {begin - time.time():.1f} s before the first is due", flush=True)
    assert time.time() < begin, "submitting took too long: some were due already"
    assert await ax.messages("AX_LATER") == options.tasks
    await eventually(lambda: len(worker.finished) >= options.tasks, 300, "all ran", every=0.2)
    await ax.settled(options.tasks, 60)
    late = starts.lateness(due)
    report(f"{options.tasks} due in {options.over:g} s", late)
    width = next((w for w in (0.05, 0.25, 1.0, 5.0) if late[-1] / w <= 30), 15.0)
    histogram(late, width)
    ran = sorted(s[0] for s in starts.at.values())
    print(f"{options.tasks / max(ran[-1] - begin, 0.001):.0f} tasks/s from the first due time to the last start; "
          f"half had started after {quantile(ran, 0.5) - begin:.2f} s")


async def waiting(ax):
    await ax.pool("email")
    await ax.worker()
    await asyncio.sleep(2)
    empty = {p.name: resources(p)[0] for p in (ax.server, ax.ingress, ax.dispatch)}
    due = {f"t-{i}": time.time() + 3600 + i / 1000 for i in range(options.waiting)}
    started = time.monotonic()
    await submit_batches(ax, due, options.priority)
    print(f"{options.waiting} submitted in {time.monotonic() - started:.1f} s", flush=True)
    assert await ax.messages("AX_LATER") == options.waiting
    for restarted in (False, True):
        if restarted:
            for d in (ax.ingress, ax.dispatch):
                await d.restart()
            await eventually(lambda: ax.ingress.metric("ax_ingress_later_ids") == options.waiting, 60, "all read back")
        await asyncio.sleep(5)
        before = {p: resources(p)[1] for p in (ax.ingress, ax.dispatch, ax.server)}
        started = time.monotonic()
        await asyncio.sleep(30)
        for p, cpu in before.items():
            rss, now = resources(p)
            print(f"{p.name}{' (daemons restarted)' if restarted else ''}: {empty[p.name] / 2**20:.1f} -> "
                  f"{rss / 2**20:.1f} MiB, {(rss - empty[p.name]) / options.waiting:.0f} bytes per task, "
                  f"{(now - cpu) / (time.monotonic() - started):.2%} of a core", flush=True)
    ax.server.kill()
    ax.server.start()
    await ax.server_ready()
    await asyncio.sleep(5)
    rss = resources(ax.server)[0]
    per_task = (rss - empty["nats-server"]) / options.waiting
    print(f"nats-server restarted: {rss / 2**20:.1f} MiB, {per_task:.0f} bytes per task")


run(waiting if options.waiting else due_together, 900)
