# The same key given twice at once, through two ingresses, to workers that finish at once: one answer says that the task
# is new, the other that it is known, also when the first is done before the second is stored.
# ctest: sanitize=address
import asyncio
import collections

from harness import SANITIZE, eventually, run

KEYS = 300 if SANITIZE else 1200
AT_ONCE = 8


async def test(ax):
    await ax.pool("email", {"batch": 100})
    worker = await ax.worker(pulls=100)
    connections = [await ax.connect(f"producer-{i}") for i in range(2)]
    news, states = collections.Counter(), collections.Counter()
    keys = iter(range(KEYS))

    async def soon(seconds, *args, **options):
        await asyncio.sleep(seconds)
        return await ax.submit(*args, **options)

    async def twice():
        for i in keys:
            answers = await asyncio.gather(*(soon(i % 8 / 1000 * n, "x", f"order-{i}", nc=nc)
                                             for n, nc in enumerate(connections)))
            assert answers[0]["task"] == answers[1]["task"]
            news[sum(not a["duplicate"] for a in answers)] += 1
            states.update(a["state"] for a in answers if a["duplicate"])
    await asyncio.gather(*(twice() for _ in range(AT_ONCE)))
    await eventually(lambda: len(worker.finished) >= KEYS, 30, "all done")
    await ax.settled(KEYS, 30)
    print(f"new: {dict(news)}; known: {dict(states)}")
    assert len(worker.starts) == KEYS, len(worker.starts)
    assert news == {1: KEYS}, f"answers that said new: {dict(news)}"


run(test, ingress=2)
