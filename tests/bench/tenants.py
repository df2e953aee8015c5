"""Two tenants at one queue (make tenants): one pushes 100,000 tasks through producers that retry when busy, the other has 100.

    AX_BIN_DIR=$PWD/build/bin scripts/run-test tests/bench/tenants.py [--tasks 100000]

First the small one alone, its 100 tasks at once, then beside the large one, five times, with two ingress instances: until its
tasks were accepted (p99 must be under 1 s) and until they started (the median must be within twice what it was alone). Then two that both push,
weights 3 and 1: their starts must be 3 to 1 within 5%. Eight workers take 20 ms ± 50% for a task. Nothing else should run on the
machine.
"""
import argparse
import asyncio
import collections
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))

from harness import SLOW, Ax, eventually, own, run  # noqa: E402
from tenants import Tenant, median, quantile  # noqa: E402

options = argparse.ArgumentParser()
options.add_argument("--tasks", type=int, default=100000, help="of the large tenant")
options.add_argument("--small", type=int, default=100)
options.add_argument("--rounds", type=int, default=5, help="times that the small tenant comes")
options.add_argument("--workers", type=int, default=8)
options.add_argument("--without", action="store_true", help="no groups: what it was without them")
options = options.parse_args()


async def test(ax):
    await ax.pool("email", {"group_weights": {"gold": 3}})
    large, small = Tenant(ax, "large"), Tenant(ax, "small")
    if options.without:
        large.headers = small.headers = {}
    by_name = {"large": large, "small": small}
    order = []

    async def handler(task):
        name = task.body.decode()
        order.append(name)
        if name in by_name:
            by_name[name].started(task)
        await asyncio.sleep(random.uniform(0.01, 0.03))

    # The workers' processor time is the machine's, too: few connections, many pulls.
    await ax.worker("email", handler, pulls=options.workers)

    async def few(tenant):
        nc = await ax.connect("small")
        before = len(tenant.waits)
        for _ in range(options.rounds):
            await asyncio.gather(*(tenant.submit(nc, b"small") for _ in range(options.small)))
            before += options.small
            await eventually(lambda: len(tenant.waits) == before, 600, "all of small's tasks started")
            await asyncio.sleep(6)  # a pause in which the group is forgotten
        await nc.close()

    await few(small)
    alone = median(small.waits)
    print("alone: ", small.line(), flush=True)
    small.forget()

    # A program of its own: 256 submissions under way, each offered again when its answer says so.
    begun = time.monotonic()
    lines = b"large\n" * options.tasks
    group = [] if options.without else ["--group", "large"]
    pushing = asyncio.create_task(ax.command(own("ax"), "submit", "--pool", "email", "--priority", "low", "--lines", *group,
                                             stdin=lines, seconds=3600))
    await eventually(lambda: ax.ingress.metric("ax_ingress_busy_total") > 50, 120, "large has filled the queue", every=0.1)
    await few(small)
    print("beside:", small.line(), flush=True)
    beside = median(small.waits)
    worst = quantile(small.pushed_back, .99)
    print(f"small: p99 until accepted {worst * 1e3:.0f} ms (under 1000), median wait {beside * 1e3:.1f} ms, "
          f"{beside / alone:.2f} times what it was alone (within 2)", flush=True)
    still = not pushing.done()
    print(f"large:  {(await pushing).strip()}", flush=True)
    await eventually(lambda: order.count("large") == options.tasks, 3600, "all of large's tasks started", every=0.5)
    took = time.monotonic() - begun
    print(f"large: {options.tasks} tasks in {took:.0f} s, {options.tasks / took:.0f} a second", flush=True)
    assert still, "large had pushed all of its tasks before small was done: more --tasks"
    assert options.without or (worst < 1 * SLOW and beside <= 2 * alone)

    nc = await ax.connect("both")
    gold, bronze = Tenant(ax, "gold"), Tenant(ax, "bronze")

    async def endless(tenant):
        while True:
            await tenant.submit(nc, tenant.name.encode())
    pushing = [asyncio.create_task(endless(t)) for t in (gold, bronze) for _ in range(48)]
    await eventually(lambda: gold.busy > 100 and bronze.busy > 100, 120, "both are told busy")
    mark = len(order)
    await eventually(lambda: len(order) > mark + 8000, 600, "8,000 more started")
    counts = collections.Counter(order[mark:mark + 8000])
    ratio = counts["gold"] / counts["bronze"]
    print(f"weights 3 and 1: {counts['gold']} and {counts['bronze']} of 8000 starts, {ratio:.3f} : 1 (3 within 5%)")
    for p in pushing:
        p.cancel()
    await asyncio.gather(*pushing, return_exceptions=True)
    assert options.without or 2.85 <= ratio <= 3.15, counts


run(test, 3600, make=lambda: Ax(ingress=2))
