"""Scenarios that lead ax-ingress to each of its fault points."""
import asyncio

from harness import eventually
import nats.errors

import wire


async def submitted(lane, point):
    """A task; its producer repeats until it has an answer."""
    await lane.arm(lane.ax.ingress, point)
    await lane.work()
    producer = lane.submitting()
    await lane.dies(lane.ax.ingress)
    await lane.revive(lane.ax.ingress)
    await producer


async def known(lane, point):
    """A key that is queued already."""
    await lane.arm(lane.ax.ingress, point)
    key = await lane.submit()
    producer = lane.submitting(key=key)
    await lane.dies(lane.ax.ingress)
    await lane.revive(lane.ax.ingress)
    await producer
    await lane.work()


async def busy(lane, point):
    """The queue is full."""
    ax = lane.ax
    await lane.arm(ax.ingress, point)
    await ax.edit_stream("AX_HIGH", max_msgs=1)
    await lane.submit()
    producer = lane.submitting()
    await lane.dies(ax.ingress)
    await lane.revive(ax.ingress)
    await lane.work()
    await producer
    await ax.edit_stream("AX_HIGH", max_msgs=1000)


async def spilled(lane, point):
    """Into the spill, and back when there is room."""
    ax = lane.ax
    if not lane.spills:
        config = (await ax.stream("AX_LOW"))["config"]
        await ax.edit_stream("AX_LOW", max_msgs=1, metadata={**config["metadata"], "ax.on_full": "spill"})
        lane.spills = True
    await lane.arm(ax.ingress, point)  # which reads the policy
    producers = [lane.submitting(priority="low") for _ in range(3)]
    if not point.startswith("submit."):
        await lane.work()  # makes room
    await lane.dies(ax.ingress)
    await lane.revive(ax.ingress)
    await asyncio.gather(*producers)
    if not lane.worker:
        await lane.work()


async def delayed(lane, point):
    """Stored for later, and fed into its queue when its time has come."""
    await lane.arm(lane.ax.ingress, point)
    producer = lane.submitting(headers={"Ax-Delay": "300ms"})
    await lane.dies(lane.ax.ingress)
    await lane.revive(lane.ax.ingress)
    await producer
    await lane.work()


async def fed_twice(lane, point):
    """Fed, and killed before the due message was acked: it comes again."""
    ingress = lane.ax.ingress
    await lane.arm(ingress, "feed.publish.after")
    await lane.submit(headers={"Ax-Delay": "300ms"})
    await lane.dies(ingress)
    await lane.revive(ingress, point)
    await lane.dies(ingress)
    await lane.revive(ingress)
    await lane.work()


async def fed_early(lane, point):
    """The retry is due while the attempt before it is still in the queue: dispatch died before it released it."""
    ax = lane.ax
    await lane.arm(ax.ingress, point)
    await lane.arm(ax.dispatch, "later.publish.after")
    await lane.work()
    await lane.submit("nak,ack")
    await lane.dies(ax.dispatch)
    await lane.dies(ax.ingress)
    await lane.revive(ax.ingress)
    await lane.revive(ax.dispatch)


async def fed_full(lane, point):
    """Due, and the queue is full: held; on SIGTERM given back."""
    ax = lane.ax
    stops = point.startswith("feed.give-back")
    await ax.edit_stream("AX_HIGH", max_msgs=1)
    await lane.arm(ax.ingress, point)
    await lane.submit()
    await lane.submit(headers={"Ax-Delay": "100ms"})
    if stops:
        await eventually(lambda: ax.ingress.metric("ax_ingress_fed_full_total"), 10, "the queue refused it")
        ax.ingress.p.terminate()
    await lane.dies(ax.ingress)
    await lane.revive(ax.ingress)
    await lane.work()
    await lane.settled()
    await ax.edit_stream("AX_HIGH", max_msgs=1000)


async def recurring(lane, point):
    """A schedule is stored (again, under another priority), fires, and is removed."""
    ax = lane.ax
    cron = {"Ax-Cron": "@every 1s"}
    key = lane.key("cron")
    await lane.arm(ax.ingress, point)
    if point.startswith("cron.remove-old"):
        await lane.submit("ack", key, "low", headers=cron)
    if point != "firing.skip":
        await lane.work()
    producer = lane.submitting("ack", key, headers=cron)
    await lane.dies(ax.ingress)
    await lane.revive(ax.ingress)
    await producer
    if not lane.worker:
        await lane.work()
    await eventually(lambda: len(lane.firings(key)) >= 2, 20, "it fires")
    await lane.command("cron", "rm", key, "--pool", "email")
    await lane.settled()
    firings = lane.firings(key)
    assert all(lane.ledger.starts[k] == [1] for k in firings), "a firing ran twice"
    assert all(k in lane.ledger.effects for k in firings)
    assert not await ax.messages("AX_LATER")


async def batched(lane, point):
    """Many tasks in one message, answered by one reply; repeated until it comes."""
    ax = lane.ax
    keys = [lane.key("batch") for _ in range(5)]
    data = wire.batch([wire.task(body="ack", key=k) for k in keys])
    await lane.arm(ax.ingress, point)

    async def produce():
        while True:
            try:
                reply = await ax.nc.request("ax.submit.high.email", data, headers={"Ax-Schema": "ax.v1.TaskBatch"},
                                            timeout=0.7)
                return wire.replies(reply.data)
            except nats.errors.Error:
                await asyncio.sleep(0.05)
    producer = asyncio.create_task(produce())
    await lane.dies(ax.ingress)
    await lane.revive(ax.ingress)
    for key, answer in zip(keys, await producer):
        assert not answer["error"], answer
        lane.tasks[key] = answer["task"], "email"
    await lane.work()


async def new_pool(lane, point):
    """The first task of a pool adds it."""
    pool = lane.key("pool")
    await lane.arm(lane.ax.ingress, point)
    producer = lane.submitting(pool=pool)
    await lane.dies(lane.ax.ingress)
    await lane.revive(lane.ax.ingress)
    await producer
    await lane.submit(pool=pool)
    await eventually(lambda: lane.ax.consumer("AX_WORK", pool), 15, f"pool {pool} is there")
    await lane.work(pool)


async def refused_unheard(lane, point):
    """A bad submission without reply subject becomes a dead letter. Nobody was told anything: before it is stored it may
    be lost with the process, after that never."""
    ax = lane.ax
    await lane.arm(ax.ingress, point)
    await ax.nc.publish("ax.submit.high.email", b"ack", headers={"Ax-Bogus": "1"})
    await lane.dies(ax.ingress)
    await lane.revive(ax.ingress)
    stored = await ax.messages("AX_DEAD")
    assert stored == (1 if point == "submit.dead.after" else 0), f"{stored} dead letters"


SCENARIOS = {
    "pool.add.before": new_pool, "pool.add.after": new_pool,
    "submit.known": known, "submit.queue.known": known, "submit.queue.full": busy,
    "submit.answer.before": submitted, "submit.answer.after": submitted,
    "submit.queue.before": submitted, "submit.queue.after": submitted,
    "submit.dead.before": refused_unheard, "submit.dead.after": refused_unheard,
    "submit.later.before": delayed, "submit.later.after": delayed,
    "submit.spill.before": spilled, "submit.spill.after": spilled,
    "drain.publish.before": spilled, "drain.publish.after": spilled, "drain.ack.before": spilled, "drain.ack.after": spilled,
    "batch.answer.before": batched, "batch.answer.after": batched,
    "cron.store.before": recurring, "cron.store.after": recurring,
    "cron.remove-old.before": recurring, "cron.remove-old.after": recurring,
    "firing.record.before": recurring, "firing.record.after": recurring, "firing.publish.before": recurring,
    "firing.publish.after": recurring, "firing.ack.before": recurring, "firing.ack.after": recurring,
    "firing.skip": recurring,
    "feed.publish.before": delayed, "feed.publish.after": delayed, "feed.ack.before": delayed, "feed.ack.after": delayed,
    "feed.known": fed_twice, "feed.earlier": fed_early, "feed.publish.full": fed_full,
    "feed.give-back.before": fed_full, "feed.give-back.after": fed_full,
}
