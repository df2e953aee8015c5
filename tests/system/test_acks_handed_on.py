# Acks that cannot be recorded for a while, a server that was restarted and has forgotten its hand-offs, and then the
# pool goes to another dispatcher. The dispatcher that heard the acks tells the next one, and no task starts again.
import asyncio

from harness import eventually, run
from leaders import leader

TASKS = 20


async def test(ax):
    await ax.pool("email", {}, ack_wait=2)
    release = asyncio.Event()

    async def handler(_):
        await release.wait()

    worker = await ax.worker(handler=handler, pulls=TASKS)
    for i in range(TASKS):
        await ax.submit("x", f"order-{i}" if i % 2 else None)
    await eventually(lambda: len(worker.starts) == TASKS, 20, "all at work")
    old = await eventually(lambda: leader(ax, "email"), 10, "one leader")
    await ax.edit_stream("KV_AX_DONE", max_bytes=1, discard="new")
    release.set()
    await eventually(lambda: len(worker.finished) == TASKS, 10, "all acked")
    await eventually(lambda: "step=record" in old.log(), 20, "records that cannot be stored")
    await eventually(lambda: gone(ax), 10, "hand-offs gone")

    ax.server.stop()
    ax.server.start()
    await ax.server_ready()
    old.stop()
    new = next(d for d in ax.dispatches if d is not old)
    await eventually(lambda: "acks not recorded yet, others told" in old.log(), 10, "the others told")
    await eventually(lambda: leader(ax, "email") is new, 30, "the other one leads")
    await eventually(lambda: "step=record" in new.log(), 30, "the queue messages come again, and cannot be recorded either")
    assert await ax.done() == 0
    await ax.edit_stream("KV_AX_DONE", max_bytes=-1)
    await ax.settled(TASKS, 60)
    assert len(worker.starts) == TASKS, sorted((t.id, t.attempt, t.fence) for t in worker.starts)


async def gone(ax):
    return await ax.messages("AX_WORK") == 0


run(test, dispatch=2)
