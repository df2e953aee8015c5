# An ack subject that has both forms, $JS.ACK.AX_WORK.<own pool>.AX_WORK.<other pool>.…: whoever may ack tasks of one pool
# must not end those of another by it. The server refuses it to a worker, and dispatch does not take it for an ack
# whoever sends it.
# ctest: timeout=60
import asyncio

from accounts import run
from harness import eventually


release = asyncio.Event()


async def test(ax):
    await ax.pools("email", "invoice")
    worker = await ax.seat("shop-invoice").worker("invoice", hold)
    rogue = await ax.seat("mail-email").connect()
    await ax.submit("x", "held", "normal", "invoice", nc=await ax.seat("shop-producer").connect())
    await eventually(lambda: worker.starts, 15, "shop's task starts")
    task = worker.starts[0]

    for kind in (b"+ACK", b"+TERM forged", b'-NAK {"delay":3600000000000}', b"+WPI"):
        for end in ("", ".more"):
            subject = f"$JS.ACK.AX_WORK.email.AX_WORK.invoice.1.{task.fence}.1.{int(task.stored * 1e9)}.0{end}"
            await rogue.publish(subject, kind)
            await ax.nc.publish(subject, kind)
    await rogue.flush()
    await ax.nc.flush()
    await ax.refused("mail-email", "permissions violation")

    # What dispatch heard before this answer, it has decided on.
    await ax.submit("y", "probe", "high", "email", nc=await ax.seat("mail-producer").connect())
    probe = await ax.seat("mail-email").worker("email")
    await eventually(lambda: probe.starts, 15, "a later task goes through")
    await eventually(lambda: (ax.dispatch.metric("ax_done_total") or 0) >= 1, 15, "and is recorded")
    assert await ax.messages("AX_WORK") == 1 and await ax.messages("AX_DEAD") == 0 == await ax.messages("AX_LATER")
    assert (await ax.consumer("AX_WORK", "invoice"))["num_ack_pending"] == 1
    assert len(worker.starts) == 1

    release.set()
    await ax.settled(2, 20)


async def hold(task):
    while not release.is_set():
        await task.progress()
        try:
            await asyncio.wait_for(release.wait(), 0.2)
        except asyncio.TimeoutError:
            pass
    return "ack"


run(test)
