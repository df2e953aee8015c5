# One key given to several priorities of a pool at once is one task: it runs once, never twice side by side.
# ctest: timeout=120
import asyncio
import collections

from harness import eventually, run

COUNT = 50


async def test(ax):
    await ax.pool("email", {"batch": 50})
    answers = await asyncio.gather(*(ax.submit("x", f"k{i}", p) for i in range(COUNT) for p in ("high", "normal", "low")))
    assert len({a["task"] for a in answers}) == COUNT

    async def handler(task):
        await asyncio.sleep(0.3)

    # More hands than tasks: whatever may run side by side does.
    worker = await ax.worker(handler=handler, pulls=3 * COUNT)
    await eventually(lambda: len(worker.finished) >= COUNT, 20)
    await ax.settled(COUNT, 20)
    runs = collections.Counter(t.key for t in worker.starts)
    assert len(runs) == COUNT
    twice = sum(n > 1 for n in runs.values())
    assert twice == 0, f"{twice} of {COUNT} keys ran more than once"


run(test)
