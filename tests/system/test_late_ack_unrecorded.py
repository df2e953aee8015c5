# A late ack whose record cannot be stored for a while: the retry does not start, and ends as done when there is room.
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "500ms"}, ack_wait=1)
    release = asyncio.Event()

    async def slow(_):
        await release.wait()

    worker = await ax.worker(handler=slow, pulls=2)
    await ax.submit("x", "order-1")
    await eventually(lambda: ax.messages("AX_LATER"), 15, "the retry of what timed out")
    await ax.edit_stream("KV_AX_DONE", max_bytes=1, discard="new")
    release.set()
    await eventually(lambda: "late ack honoured" in ax.dispatch.log(), 10, "the late ack heard")
    await eventually(lambda: "step=record" in ax.dispatch.log(), 20, "the retry, which cannot be recorded either")
    assert await ax.done() == 0
    assert len(worker.starts) == 1, [(t.attempt, t.fence) for t in worker.starts]
    await ax.edit_stream("KV_AX_DONE", max_bytes=-1)
    await ax.settled(1, 30)
    assert len(worker.starts) == 1, [(t.attempt, t.fence) for t in worker.starts]


run(test)
