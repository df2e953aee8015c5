# A dispatcher writes a dead letter and dies before it has acked the queue message. To the next dispatcher the attempt
# looks timed out: it ends the task there and writes no retry beside the dead letter.
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=1)
    release = asyncio.Event()

    async def silent(_):
        await release.wait()
        return "silence"

    worker = await ax.worker(handler=silent, pulls=1)
    reply = await ax.submit("x", "order-1")
    await eventually(lambda: worker.starts, 10, "the task at work")
    # The identity of the attempt, as its hand-off carries it, is that of the dead letter.
    identity = worker.starts[0].headers["Nats-Msg-Id"]
    ax.dispatch.kill()
    await ax.js.publish(f"ax.dead.email.{reply['task']}", b"x", headers={
        "Nats-Msg-Id": f"{identity}.dead", "Ax-Task": reply["task"], "Ax-Priority": "high", "Ax-Attempt": "1",
        "Ax-Reason": "failed 4 times, last: nak"})
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.settled(0, 30, dead=1)
    release.set()
    # A later task takes the whole road: nothing of the first one has come again by then.
    worker.handler = None
    await ax.submit("y", "order-2")
    await ax.settled(1, 20, dead=1)
    assert [t.key for t in worker.starts] == ["order-1", "order-2"], worker.starts

    # A dead letter of an earlier life of the key says nothing about this attempt.
    release.clear()
    worker.handler = silent
    third = await ax.submit("z", "order-3")
    await eventually(lambda: len(worker.starts) == 3, 10, "the third task at work")
    await ax.js.publish(f"ax.dead.email.{third['task']}", b"z", headers={
        "Nats-Msg-Id": "of.another.attempt.dead", "Ax-Task": third["task"], "Ax-Priority": "high", "Ax-Attempt": "1",
        "Ax-Reason": "failed 4 times, last: nak"})
    worker.handler = None
    release.set()
    await ax.settled(2, 30, dead=2)
    assert [(t.key, t.attempt) for t in worker.starts[2:]] == [("order-3", 1), ("order-3", 2)], worker.starts

    # The same when the hand-off is gone, and the server has forgotten its message id: it is not handed off once more.
    async def poison(_):
        await release.wait()
        return "term", "poison"

    release.clear()
    worker.handler = poison
    fourth = await ax.submit("p", "order-4")
    await eventually(lambda: len(worker.starts) == 5, 10, "the fourth task at work")
    identity = worker.starts[4].headers["Nats-Msg-Id"]
    ax.dispatch.kill()
    release.set()
    await eventually(lambda: len(worker.finished) == 3, 10, "terminated")
    await eventually(lambda: gone(ax), 10, "gone from AX_WORK")
    await ax.js.publish(f"ax.dead.email.{fourth['task']}", b"p", headers={
        "Nats-Msg-Id": f"{identity}.dead", "Ax-Task": fourth["task"], "Ax-Priority": "high", "Ax-Attempt": "1",
        "Ax-Reason": "terminated: poison"})
    ax.server.stop()
    ax.server.start()
    await ax.server_ready()
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.settled(2, 30, dead=3)
    assert len(worker.starts) == 5, worker.starts


async def gone(ax):
    return await ax.messages("AX_WORK") == 0


run(test)
