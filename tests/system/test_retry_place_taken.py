# A copy of the task lies where its retry belongs, in AX_LATER, and is no further on than the attempt that fails. It is
# replaced: the feeder would drop it, since the queue has as much, just before the failed attempt leaves the queue. One
# that is further on leads on.
# ctest: sanitize=address
import asyncio
import time

from harness import eventually, run
from lateness import rfc3339


async def lay(ax, task, attempt, seconds):
    """Stores this attempt of the task in AX_LATER, due in so many seconds."""
    headers = {"Nats-Schedule": f"@at {rfc3339(time.time() + seconds)}", "Ax-Attempt": str(attempt), "Ax-Max-Retry": "5",
               "Nats-Schedule-Target": f"ax.due.high.email.{task.id}", "Ax-Submitted": str(time.time_ns())}
    await ax.js.publish(f"ax.later.high.email.{task.id}", b"copy", headers=headers)


async def test(ax):
    await ax.pool("email", {"backoff": "200ms"})
    fails = asyncio.Event()

    async def handler(task):
        if task.attempt == 1:
            await fails.wait()
            return "nak"

    worker = await ax.worker(handler=handler, pulls=2)
    for key in ("behind", "ahead"):
        await ax.submit("own", key)
    await eventually(lambda: len(worker.starts) == 2, 10, "both run")
    first = {t.key: t for t in worker.starts}
    await lay(ax, first["behind"], 1, 3600)
    await lay(ax, first["ahead"], 4, 1)
    fails.set()
    await eventually(lambda: len(worker.starts) == 4, 10, "both run again")
    again = {t.id: t for t in worker.starts[2:]}
    behind, ahead = again[first["behind"].id], again[first["ahead"].id]
    assert (behind.attempt, behind.body) == (2, b"own"), (behind.attempt, behind.body)
    assert (ahead.attempt, ahead.body) == (4, b"copy"), (ahead.attempt, ahead.body)
    await ax.settled(2)
    assert len(worker.starts) == 4


run(test)
