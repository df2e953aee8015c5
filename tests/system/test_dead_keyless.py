# A keyless task that has failed for good is in its queue a second time, because a killed server forgot that it had been
# fed from AX_SPILL. It does not start, not even when the dispatcher that wrote its dead letter is gone.
# ctest: sanitize=address
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", ack_wait=5)

    async def refuse(_):
        return ("term", "poison")

    worker = await ax.worker(handler=refuse, pulls=2)
    task = (await ax.submit("x"))["task"]
    await ax.settled(0, 20, dead=1)
    headers, _, _ = await ax.last("AX_DEAD", f"ax.dead.email.{task}")
    again = {"Ax-Submitted": headers["Ax-Submitted"]}
    await asyncio.to_thread(ax.dispatch.kill)
    await ax.js.publish(f"ax.queue.high.email.{task}", b"x", headers=again)
    ax.dispatch.start()
    await ax.dispatch.ready()

    async def is_dropped():
        worker.check()
        return ax.dispatch.metric("ax_duplicates_dropped_total") == 1 and await ax.unfinished() == 0
    await eventually(is_dropped, 20, "the copy dropped")
    assert len(worker.starts) == 1, worker.starts
    assert await ax.messages("AX_DEAD", "AX_WORK") == 1


run(test)
