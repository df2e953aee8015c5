"""Scenarios that lead ax-ingress to each of its fault points."""
import asyncio

from harness import eventually
import nats.errors

import wire


async def submitted(rig, point):
    """A task; its producer repeats until it has an answer."""
    await rig.arm(rig.ax.ingress, point)
    await rig.work()
    producer = rig.submitting()
    await rig.dies(rig.ax.ingress)
    await rig.revive(rig.ax.ingress)
    await producer


async def known(rig, point):
    """A key that is queued already."""
    await rig.arm(rig.ax.ingress, point)
    key = await rig.submit()
    producer = rig.submitting(key=key)
    await rig.dies(rig.ax.ingress)
    await rig.revive(rig.ax.ingress)
    await producer
    await rig.work()


async def busy(rig, point):
    """The queue is full."""
    ax = rig.ax
    await rig.arm(ax.ingress, point)
    await ax.edit_stream("AX_HIGH", max_msgs=1)
    await rig.submit()
    producer = rig.submitting()
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    await rig.work()
    await producer
    await ax.edit_stream("AX_HIGH", max_msgs=1000)


async def spilled(rig, point):
    """Into the spill, and back when there is room."""
    ax = rig.ax
    if not rig.spills:
        config = (await ax.stream("AX_LOW"))["config"]
        await ax.edit_stream("AX_LOW", max_msgs=1, metadata={**config["metadata"], "ax.on_full": "spill"})
        rig.spills = True
    await rig.arm(ax.ingress, point)  # which reads the policy
    producers = [rig.submitting(priority="low") for _ in range(3)]
    if not point.startswith("submit."):
        await rig.work()  # makes room
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    await asyncio.gather(*producers)
    if not rig.worker:
        await rig.work()


async def delayed(rig, point):
    """Stored for later, and fed into its queue when its time has come."""
    await rig.arm(rig.ax.ingress, point)
    producer = rig.submitting(headers={"Ax-Delay": "300ms"})
    await rig.dies(rig.ax.ingress)
    await rig.revive(rig.ax.ingress)
    await producer
    await rig.work()


async def fed_twice(rig, point):
    """Fed, and killed before the due message was acked: it is redelivered."""
    ingress = rig.ax.ingress
    await rig.arm(ingress, "feed.publish.after")
    await rig.submit(headers={"Ax-Delay": "300ms"})
    await rig.dies(ingress)
    await rig.revive(ingress, point)
    await rig.dies(ingress)
    await rig.revive(ingress)
    await rig.work()


async def fed_early(rig, point):
    """The retry is due while the attempt before it is still in the queue: dispatch died before it released it."""
    ax = rig.ax
    await rig.arm(ax.ingress, point)
    await rig.arm(ax.dispatch, "later.publish.after")
    await rig.work()
    await rig.submit("nak,ack")
    await rig.dies(ax.dispatch)
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    await rig.revive(ax.dispatch)


async def fed_full(rig, point):
    """Due, and the queue is full: held; on SIGTERM given back."""
    ax = rig.ax
    stops = point.startswith("feed.give-back")
    await ax.edit_stream("AX_HIGH", max_msgs=1)
    await rig.arm(ax.ingress, point)
    await rig.submit()
    await rig.submit(headers={"Ax-Delay": "100ms"})
    if stops:
        await eventually(lambda: ax.ingress.metric("ax_ingress_fed_full_total"), 10, "the queue refused it")
        ax.ingress.p.terminate()
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    await rig.work()
    await rig.settled()
    await ax.edit_stream("AX_HIGH", max_msgs=1000)


async def recurring(rig, point):
    """A schedule is stored (again, under another priority), fires, and is removed."""
    ax = rig.ax
    cron = {"Ax-Cron": "@every 1s"}
    key = rig.key("cron")
    await rig.arm(ax.ingress, point)
    if point.startswith("cron.remove-old"):
        await rig.submit("ack", key, "low", headers=cron)
    if point != "firing.skip":
        await rig.work()
    producer = rig.submitting("ack", key, headers=cron)
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    await producer
    if not rig.worker:
        await rig.work()
    await eventually(lambda: len(rig.firings(key)) >= 2, 20, "it fires")
    await rig.command("cron", "rm", key, "--pool", "email")
    await rig.settled()
    firings = rig.firings(key)
    assert all(rig.ledger.starts[k] == [1] for k in firings), "a firing ran twice"
    assert all(k in rig.ledger.effects for k in firings)
    assert not await ax.messages("AX_LATER")


async def one_waits(rig, point):
    """The queue is full, one firing of a schedule waits for it, and another is skipped."""
    ax = rig.ax
    key = rig.key("waits")
    await ax.edit_stream("AX_HIGH", max_msgs=1)
    await rig.arm(ax.ingress, point)
    await rig.submit()
    await rig.submit("ack", key, headers={"Ax-Cron": "@every 1s", "Ax-Overlap": "queue"})
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    await rig.command("cron", "rm", key, "--pool", "email")
    await rig.work()
    await rig.settled()
    await ax.edit_stream("AX_HIGH", max_msgs=1000)
    assert all(rig.ledger.starts[k] == [1] for k in rig.firings(key)), "a firing ran twice"
    assert not await ax.messages("AX_LATER")


async def batched(rig, point):
    """Many tasks in one message, answered by one reply; repeated until it comes."""
    ax = rig.ax
    keys = [rig.key("batch") for _ in range(5)]
    data = wire.batch([wire.task(body="ack", key=k) for k in keys])
    await rig.arm(ax.ingress, point)

    async def produce():
        while True:
            try:
                reply = await ax.nc.request("ax.submit.high.email", data, headers={"Ax-Schema": "ax.v1.TaskBatch"},
                                            timeout=0.7)
                return wire.replies(reply.data)
            except nats.errors.Error:
                await asyncio.sleep(0.05)
    producer = asyncio.create_task(produce())
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    for key, answer in zip(keys, await producer):
        assert not answer["error"], answer
        rig.tasks[key] = answer["task"], "email"
    await rig.work()


async def new_pool(rig, point):
    """The first task of a pool adds it."""
    pool = rig.key("pool")
    await rig.arm(rig.ax.ingress, point)
    producer = rig.submitting(pool=pool)
    await rig.dies(rig.ax.ingress)
    await rig.revive(rig.ax.ingress)
    await producer
    await rig.submit(pool=pool)
    await eventually(lambda: rig.ax.consumer("AX_WORK", pool), 15, f"pool {pool} is there")
    await rig.work(pool)


async def refused_unheard(rig, point):
    """A bad submission without reply subject becomes a dead letter. No producer has an answer: before it is stored it may
    be lost with the process, after that never."""
    ax = rig.ax
    await rig.arm(ax.ingress, point)
    await ax.nc.publish("ax.submit.high.email", b"ack", headers={"Ax-Bogus": "1"})
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)
    stored = await ax.messages("AX_DEAD")
    assert stored == (1 if point == "submit.dead.after" else 0), f"{stored} dead letters"


async def foreign(rig, point):
    """A queue message that no pool serves becomes one dead letter, once it is ten seconds old."""
    ax = rig.ax
    await rig.arm(ax.ingress, point)
    await ax.js.publish("ax.queue.high.email", b"names no task")
    await rig.dies(ax.ingress, 40)
    await rig.revive(ax.ingress)
    await eventually(lambda: swept_away(ax, "AX_HIGH", "ax.queue.high.email"), 40, "it is a dead letter only")
    assert await ax.messages("AX_DEAD") == 1


async def swept_away(ax, stream, subject):
    return await ax.messages("AX_DEAD") and not await ax.last(stream, subject)


async def swept(rig, point):
    """A message that no queue would get, over a delayed task whose timer it takes away, becomes one dead letter; the task
    comes at its time. For deletion: with nothing beneath it."""
    ax = rig.ax
    await rig.arm(ax.ingress, point)
    if point.startswith("later.delete"):
        subject = f"ax.later.high.email.{'A' * 22}"
    else:
        key = await rig.submit(headers={"Ax-Delay": "3s"})
        subject = f"ax.later.high.email.{rig.tasks[key][0]}"
    await ax.js.publish(subject, b"cover")
    await rig.dies(ax.ingress)
    await rig.revive(ax.ingress)

    await rig.work()
    await eventually(lambda: swept_away(ax, "AX_LATER", subject), 10, "only what is right is left")
    assert await ax.messages("AX_DEAD") == 1


SCENARIOS = {
    "later.bury.before": swept, "later.bury.after": swept, "later.rearm.before": swept, "later.rearm.after": swept,
    "foreign.bury.before": foreign, "foreign.bury.after": foreign, "foreign.delete.after": foreign,
    "later.delete.before": swept, "later.delete.after": swept,
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
    "firing.skip": recurring, "firing.one-waits": one_waits,
    "feed.publish.before": delayed, "feed.publish.after": delayed, "feed.ack.before": delayed, "feed.ack.after": delayed,
    "feed.known": fed_twice, "feed.earlier": fed_early, "feed.publish.full": fed_full,
    "feed.give-back.before": fed_full, "feed.give-back.after": fed_full,
}
