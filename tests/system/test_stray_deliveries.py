# A worker has its tasks delivered to an inbox of dispatch, and to one of ingress: neither takes them for its own, acks
# them or buries them. They run when the ack wait is over.
# ctest: timeout=60
import asyncio
import json

from harness import eventually, run

DROPPED = "message that the consumer did not send, dropped"


async def inbox_of(ax, stream, consumer):
    """Where this consumer's puller waits: whoever may listen to pull requests sees it."""
    heard = asyncio.get_running_loop().create_future()

    async def on_pull(msg):
        if not heard.done():
            heard.set_result(msg.reply)
    sub = await ax.nc.subscribe(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", cb=on_pull)
    try:
        return await asyncio.wait_for(heard, 30)  # a pull is made anew every 10 s
    finally:
        await sub.unsubscribe()


async def divert(ax, key, inbox):
    """Has the task of this key delivered there."""
    task = (await ax.submit("x", key))["task"]
    await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", json.dumps({"batch": 1, "expires": int(5e9)}).encode(),
                        reply=inbox)
    return task


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=2)
    await ax.pool("sms")
    queue, later = await asyncio.gather(inbox_of(ax, "AX_HIGH", "sms"), inbox_of(ax, "AX_LATER", "feeder-high"))
    acks = []

    async def on_ack(msg):
        acks.append((msg.subject, msg.data))
    await ax.nc.subscribe("$JS.ACK.AX_WORK.>", cb=on_ack)

    await divert(ax, "one", queue)
    await eventually(lambda: DROPPED in ax.dispatch.log(), 15, "dispatch drops it")
    await divert(ax, "two", later)
    await eventually(lambda: DROPPED in ax.ingress.log(), 15, "ingress drops it")
    assert not acks, acks
    worker = await ax.worker("email")
    await ax.settled(2, 20)
    assert sorted(t.key for t in worker.starts) == ["one", "two"]
    assert all(t.attempt == 2 for t in worker.starts), [t.attempt for t in worker.starts]


run(test)
