# Under endless high load the lower priorities still get their kept share of the starts, and not more.
# ctest: timeout=120
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"batch": 4, "share": 0.1})
    feeding = True

    async def feed(priority, number):
        i = 0
        while feeding:
            await ax.submit("x", f"{priority}-{number}-{i}", priority, retry=True)
            i += 1

    async def handler(task):
        await asyncio.sleep(0.004)

    feeders = [asyncio.create_task(feed(p, n)) for p, k in (("high", 12), ("normal", 2), ("low", 2)) for n in range(k)]

    async def loaded():
        counts = [await ax.messages(s) for s in ("AX_HIGH", "AX_NORMAL", "AX_LOW")]
        return counts[0] >= 300 and counts[1] >= 50 and counts[2] >= 50
    await eventually(loaded, 30, "tasks wait in every priority")
    worker = await ax.worker(handler=handler, pulls=2)
    await eventually(lambda: len(worker.starts) >= 1000, 40, "1000 starts")
    assert await ax.messages("AX_HIGH") > 0, "the high queue ran dry: the test says nothing"
    starts = worker.starts[:1000]
    lower = [t for t in starts if t.priority != "high"]
    feeding = False
    assert 70 <= len(lower) <= 140, f"{len(lower)} of 1000 starts went to lower priorities, their share is 100"
    for priority in ("normal", "low"):
        count = sum(t.priority == priority for t in lower)
        print(priority, count)
    assert any(t.priority == "low" for t in lower), "low starved beside normal"
    # They come spread out, not in one lump.
    tenths = [sum(t.priority != "high" for t in starts[i:i + 200]) for i in range(0, 1000, 200)]
    assert min(tenths) >= 5, tenths
    for f in feeders:
        f.cancel()
    await asyncio.gather(*feeders, return_exceptions=True)


run(test)
