# 8 producers push 20,000 keyed tasks into a queue of 1,000 with retries: none is lost, none runs twice.
# ctest: timeout=240
import asyncio
import collections

from harness import run

COUNT = 20000


async def test(ax):
    await ax.pool("email", {"batch": 100})
    bodies = {f"order-{i}": f"body {i}" for i in range(COUNT)}
    worker = await ax.worker(pulls=16, batch=20)
    peak = 0

    async def watch():
        nonlocal peak
        while True:
            peak = max(peak, await ax.messages("AX_HIGH"))
            await asyncio.sleep(0.05)

    watcher = asyncio.create_task(watch())
    answers = await ax.push(bodies.items(), producers=8, window=200)
    await ax.settled(COUNT, 120)
    watcher.cancel()
    assert answers["queued"] + answers["duplicate"] == COUNT, answers
    assert answers["busy"] > 0, f"the queue was never full: {answers}"
    assert answers["duplicate"] <= answers["unknown"], answers
    assert peak <= 1000, peak
    runs = collections.Counter(t.key for t in worker.starts)
    assert set(runs) == set(bodies), f"{COUNT - len(runs)} lost"
    twice = {k: n for k, n in runs.items() if n > 1}
    assert not twice, f"{len(twice)} ran more than once: {list(twice.items())[:5]}"
    assert all(t.body.decode() == bodies[t.key] for t in worker.starts)
    fences = [t.fence for t in worker.starts]
    assert len(set(fences)) == COUNT, "a fencing token came twice"
    print(answers, "peak", peak)


run(test, 220)
