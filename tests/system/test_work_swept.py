# A hand-off that stayed in AX_WORK although its queue message is gone (the server went down between its ack and its
# removal) is swept when nothing is under way.
from harness import eventually, run


async def test(ax):
    await ax.pool("email", {}, ack_wait=60)
    worker = await ax.worker(pulls=1)
    await ax.submit("x", "order-1")
    await ax.settled(1, 10)
    ax.workers.remove(worker)
    await worker.stop()
    await eventually(lambda: no_pulls(ax), 10, "the worker's pulls are over")
    last = (await ax.stream("AX_HIGH"))["state"]["last_seq"]
    await ax.js.publish("ax.work.email.3cfbd17ae6342d24f090efaf4f3d5b47", b"x", headers={
        "Ax-Task": "3cfbd17ae6342d24f090efaf4f3d5b47", "Ax-Priority": "high", "Ax-Attempt": "1",
        "Ax-Lease": f"$JS.ACK.AX_HIGH.email.1.{last}.1.1795992900473930255.0"})
    assert await ax.messages("AX_WORK") == 1
    await eventually(lambda: empty(ax), 30, "what was left is swept")


async def no_pulls(ax):
    return (await ax.consumer("AX_WORK", "email"))["num_waiting"] == 0


async def empty(ax):
    return await ax.messages("AX_WORK") == 0


run(test)
