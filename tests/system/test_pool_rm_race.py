# A pool that is removed again and again while tasks of it are submitted: no accepted task is lost, and none waits in a
# queue that nobody serves.
import asyncio
import random
import time

from harness import SLOW, Refused, eventually, run

REMOVALS = 6


async def test(ax):
    accepted, stop = set(), asyncio.Event()
    worker = await ax.worker("email", expires=0.3)

    async def produce(name):
        n = 0
        while not stop.is_set():
            n += 1
            try:
                accepted.add((await ax.submit("x", f"{name}-{n}"))["task"])
            except Refused as refused:
                assert refused.code == 503, refused
            await asyncio.sleep(random.expovariate(1))
    producers = [asyncio.create_task(produce(f"p{i}")) for i in range(2)]
    removals = 0
    outcomes = []
    deadline = time.monotonic() + 40 * SLOW
    while removals < REMOVALS and time.monotonic() < deadline:
        text = await ax.command("ax", "pool", "rm", "email", check=False)
        removals += "pool email removed" in text
        outcomes.append(text)
        assert "removed" in text or "has tasks" in text or "a task came meanwhile" in text or "is not there" in text, text
    stop.set()
    await asyncio.gather(*producers)
    assert removals == REMOVALS, outcomes[-20:]
    assert len(accepted) > 3, accepted

    async def done():
        missing = accepted - await ax.recorded()
        assert not missing, f"{len(missing)} of {len(accepted)} accepted tasks are not done: {missing}"
        return True
    await eventually(done, 60, "all accepted tasks are done", every=0.2)
    assert {t.id for t in worker.starts} == accepted


run(test, ingress=2, dispatch=2)
