# The hand-off is gone, and no dispatcher heard why. A worker's term makes a dead letter; what the server itself calls a
# termination does not (a replica of the consumer that saw the message go before it saw the ack).
import json

from harness import eventually, run

SERVERS_OWN = ("Unacknowledged message was deleted", "Message deleted by stream limits")


async def test(ax):
    await ax.pool("email", ack_wait=30)

    async def hold(task):
        return "silence"

    worker = await ax.worker(handler=hold, pulls=3)
    words = (*SERVERS_OWN, "poison")
    for i in range(3):
        await ax.submit("x", f"key-{i}")
    await eventually(lambda: len(worker.starts) == 3, 10, "three at work")
    ax.dispatch.kill()
    for task, reason in zip(sorted(worker.starts, key=lambda t: t.key), words):
        await ax.nc.publish(task.msg.reply, b"")  # gone from AX_WORK, unheard
        await ax.nc.publish("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.AX_WORK.email", json.dumps({
            "stream": "AX_WORK", "consumer": "email", "stream_seq": task.fence, "reason": reason}).encode())

    async def stored():
        return await ax.messages("AX_EVENTS") == 3 and await ax.messages("AX_WORK") == 0
    await eventually(stored, 10, "advisories stored, hand-offs gone")
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.settled(2, 60, dead=1)
    dead = await ax.last("AX_DEAD", "ax.dead.email.*")
    assert dead[0]["Ax-Key"] == "key-2" and dead[0]["Ax-Reason"] == "terminated: poison", dead
    assert len(worker.starts) == 3


run(test, 90)
