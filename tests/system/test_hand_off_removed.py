# Somebody deletes the hand-off of a running task from AX_WORK (`nats stream rmm`). No ack was heard, and nothing was
# missed: the task is not done. It is when its worker acks it all the same; when that stays silent the task runs again.
# A dispatcher that may have missed an ack cannot tell: it takes the task for done, says so and counts it.
import asyncio

from harness import SLOW, eventually, run

WAIT_S = 2 * SLOW


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=WAIT_S)
    ends = asyncio.Event()

    async def handler(task):
        if task.key == "acked":
            await ends.wait()
        elif task.attempt == 1 and task.key != "first":
            return "silence"

    worker = await ax.worker(handler=handler, pulls=4)
    await ax.submit("x", "first")
    await eventually(lambda: worker.finished, 10, "the first one is done, its ack was heard")

    for key in ("acked", "silent"):
        await ax.submit("x", key)
    await eventually(lambda: len(worker.starts) == 3, 10, "they run")
    running = {t.key: t for t in worker.starts}
    for key in ("acked", "silent"):
        await ax.api("STREAM.MSG.DELETE.AX_WORK", {"seq": running[key].fence})
    await eventually(lambda: ax.dispatch.metric("ax_hand_offs_removed_total") == 2, 20 + 2 * WAIT_S, "noticed")
    ends.set()
    await eventually(lambda: {t.key for t in worker.finished} == {"first", "acked", "silent"}, 20 + WAIT_S, "both are done")
    await ax.settled(3)
    attempts = [(t.key, t.attempt) for t in worker.starts]
    assert sorted(attempts) == [("acked", 1), ("first", 1), ("silent", 1), ("silent", 2)], attempts
    assert worker.starts[-1].headers["Ax-Timeouts"] == "1", worker.starts[-1].headers
    assert "was deleted from AX_WORK" in ax.dispatch.log()
    assert ax.dispatch.metric("ax_unheard_ends_total") == 0

    # One that nobody had fetched is handed off again at once.
    await worker.stop()
    await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b"1", reply=ax.nc.new_inbox())
    task = (await ax.submit("x", "unfetched"))["task"]
    await eventually(lambda: ax.last("AX_WORK", f"ax.work.email.{task}"), 10, "handed off to nobody")
    await ax.api("STREAM.MSG.DELETE.AX_WORK", {"seq": (await ax.stream("AX_WORK"))["state"]["last_seq"]})
    worker = await ax.worker(pulls=1)
    await eventually(lambda: worker.finished, 20 + 2 * WAIT_S, "it runs")
    await ax.settled(4)

    # Another dispatcher leads: it has not heard what there was to hear.
    other = await ax.worker(handler=handler, pulls=2)
    await worker.stop()
    await ax.submit("x", "unheard")
    await eventually(lambda: other.starts, 10, "it runs")
    ax.dispatch.kill()
    await ax.api("STREAM.MSG.DELETE.AX_WORK", {"seq": other.starts[0].fence})
    ax.dispatch.start()
    await ax.dispatch.ready()
    await eventually(lambda: ax.dispatch.metric("ax_unheard_ends_total") == 1, 20 + 2 * WAIT_S, "counted")
    await ax.settled(5)
    assert "no ack was heard" in ax.dispatch.log()
    assert len(other.starts) == 1


run(test)
