# An ack that arrives while nobody leads the pool is heard by the dispatcher that leads next: a nak need not wait until
# its ack wait is over.
import asyncio
import time

from harness import LEASE_TTL, SLOW, eventually, run
from leaders import leader

ACK_WAIT = 60


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=ACK_WAIT)
    release = asyncio.Event()

    async def handler(task):
        if task.attempt == 1:
            await release.wait()
            return "nak"
        return "ack"

    worker = await ax.worker(handler=handler, pulls=2)
    await ax.submit("x", "order-1")
    await eventually(lambda: worker.starts, 10, "the task at work")
    old = await eventually(lambda: leader(ax, "email"), 10, "one leader")
    old.kill()
    release.set()
    await eventually(lambda: worker.finished, 5, "the nak is out")
    began = time.monotonic()
    await eventually(lambda: len(worker.starts) == 2, 2 * LEASE_TTL + 15, "the retry")
    assert time.monotonic() - began < ACK_WAIT / 2 * SLOW
    await ax.settled(1, 20)
    assert [(t.key, t.attempt) for t in worker.starts] == [("order-1", 1), ("order-1", 2)]


run(test, dispatch=2)
