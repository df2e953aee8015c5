# A queue that one tenant fills is shared with another as soon as that one submits: it gets room within a second, and
# the large one gets busy answers for as long; alone it may have the whole queue. Two that both push hold it, and are
# worked, 3 to 1 by their weights. Without a dispatcher that reports what they hold, and with ax.group_share 0, it is
# first come, first served.
# ctest: timed
# ctest: timeout=300
import asyncio
import collections

from harness import SLOW, Ax, eventually, run
from tenants import Tenant, holdings, median, quantile, workers

BOUND = 400


async def full(ax):
    return (await ax.stream("AX_LOW"))["state"]["messages"] == BOUND


async def test(ax):
    await ax.edit_stream("AX_LOW", max_msgs=BOUND)
    await ax.pool("email", {"group_weights": {"gold": 3}})
    large, small, gold = Tenant(ax, "large"), Tenant(ax, "small"), Tenant(ax, "gold")

    # Alone it fills the queue to the brim, and stays there.
    pushing = asyncio.create_task(large.push(producers=12))
    await eventually(lambda: full(ax), 20, "the queue is full of large's tasks")
    worker, order = await workers(ax, [large, small, gold], count=8, seconds=0.04)
    await eventually(lambda: large.busy > 30, 20, "large is told busy")
    assert large.reasons["share"] == 0, large.line()

    # Another one comes.
    for rounds in range(1, 6):
        await eventually(lambda: full(ax), 20, "the queue is full again")
        await small.trickle(60, 0.05)
        await eventually(lambda n=60 * rounds: len(small.waits) == n, 60, "small's tasks started")
        if small.busy > 0:  # else a place was free just then
            break
    print(small.line(), large.line(), sep="\n")
    assert small.busy > 0, "the queue was not full: it showed nothing"
    assert quantile(small.pushed_back, .99) < 1 * SLOW, small.line()
    assert median(small.pushed_back) < 0.5 * SLOW, small.line()
    assert small.reasons["share"] == 0 and large.reasons["share"] > 0, (small.reasons, large.reasons)
    assert quantile(small.waits, .99) < 1 * SLOW, small.line()

    # Two that push without end, weights 3 and 1: turns and places are as their weights.
    pushing_gold = asyncio.create_task(gold.push(producers=12))
    await eventually(lambda: gold.reasons["share"] > 10 and large.reasons["share"] > 10, 40, "both at their share")
    mark = len(order)
    await eventually(lambda: len(order) >= mark + 600, 90, "600 more started")
    counts = collections.Counter(order[mark:mark + 600])
    ratio = counts["gold"] / counts["large"]
    print(f"starts gold : large = {counts['gold']} : {counts['large']}, {ratio:.3f} : 1")
    assert 2.85 <= ratio <= 3.15, counts
    held = await holdings(ax)
    print(f"places {dict(held)}")
    assert 0.65 <= held["gold"] / sum(held.values()) <= 0.85, held
    pushing_gold.cancel()
    await asyncio.gather(pushing_gold, return_exceptions=True)

    # Nobody tells what they hold: whoever comes while there is room is let in.
    ax.dispatch.kill()
    await asyncio.sleep(1.5)  # what was told is old after a second; this waits for nothing that could be seen
    asked, shares = large.busy, large.reasons["share"]
    other = asyncio.create_task(small.push(producers=2))
    await eventually(lambda: small.reasons["full"] > 2 and large.busy > asked + 5, 30, "both find it full")
    assert large.reasons["share"] == shares and small.reasons["share"] == 0, (large.line(), small.line())
    assert await full(ax)
    other.cancel()
    pushing.cancel()
    await asyncio.gather(other, pushing, return_exceptions=True)
    ax.dispatch.start()
    await ax.dispatch.ready()

    # An operator may turn it off.
    metadata = (await ax.stream("AX_LOW"))["config"]["metadata"]
    assert metadata["ax.group_share"] == "1", metadata
    await ax.edit_stream("AX_LOW", metadata={**metadata, "ax.group_share": "0"})
    first, second = Tenant(ax, "first"), Tenant(ax, "second")
    pushing = [asyncio.create_task(t.push(producers=8)) for t in (first, second)]
    await eventually(lambda: first.busy > 60 and second.busy > 60, 40, "both are told busy")
    assert first.reasons["share"] == second.reasons["share"] == 0, (first.line(), second.line())
    for p in pushing:
        p.cancel()
    await asyncio.gather(*pushing, return_exceptions=True)


run(test, 260, make=lambda: Ax(ingress=2))
