# The clock is replaced: the server's, and with it AX time, goes forward by hours (faketime.py). A cancelled task does
# not start when its time has passed; an Ax-Timeout of two hours, checked by a dispatcher that has just started, is over
# after three hours and not after one.
# ctest: timeout=120
import asyncio

from faketime import ServerClock
from harness import SLOW, eventually, own, run


async def test(ax):
    clock = ServerClock(ax.server)
    await ax.pool("email")
    await ax.pool("long")
    worker = await ax.worker()
    for key in ("cancelled", "stays"):
        await ax.submit("x", key, headers={"Ax-Delay": "30m"})
    text = await ax.command(own("ax"), "cancel", "cancelled", "--pool", "email")
    assert "cancelled, was later" in text, text

    async def endless(task):
        while True:
            await asyncio.sleep(0.2)
            await task.progress()

    long = await ax.worker("long", handler=endless)
    await ax.submit("x", "too long", pool="long", headers={"Ax-Timeout": "2h", "Ax-Max-Retry": "0"})
    await eventually(lambda: long.starts, 10, "it runs")

    clock.set(3600)
    await ax.edit_stream("AX_LATER", description="looked at after an hour")
    await eventually(lambda: len(worker.starts) == 1, 10, "the delayed task runs")
    await ax.dispatch.restart()
    await asyncio.sleep(1.5 * SLOW)  # nothing more may come
    assert [t.key for t in worker.starts] == ["stays"], [t.key for t in worker.starts]
    assert await ax.messages("AX_DEAD") == 0, "ended after one hour of two"

    clock.set(3 * 3600)
    await ax.dispatch.restart()
    await eventually(lambda: dead(ax), 15, "three hours are more than two")
    headers, _, _ = await ax.last("AX_DEAD", f"ax.dead.long.{long.starts[0].id}")
    assert "timeout of 2h" in headers["Ax-Reason"], headers
    assert len(long.starts) == 1


async def dead(ax):
    return await ax.messages("AX_DEAD") == 1


run(test)
