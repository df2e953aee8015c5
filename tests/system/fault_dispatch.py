"""Scenarios that lead ax-dispatch, and `ax dead`, to each of their fault points."""
import asyncio
import json

from harness import eventually

import fault_rig


async def acked(rig, point):
    """Tasks whose workers ack."""
    await rig.arm(rig.ax.dispatch, point)
    await rig.work()
    keys = [await rig.submit() for _ in range(3)]
    await rig.dies(rig.ax.dispatch)
    await rig.revive(rig.ax.dispatch)
    await rig.submit(key=keys[0])  # a producer that asks again


async def nakked(rig, point):
    """The first attempt fails."""
    await rig.arm(rig.ax.dispatch, point)
    await rig.work()
    await rig.submit("nak,ack")
    await rig.dies(rig.ax.dispatch)
    await rig.revive(rig.ax.dispatch)


async def termed(rig, point):
    """Failed for good."""
    await rig.arm(rig.ax.dispatch, point)
    await rig.work()
    key = await rig.submit("term")
    rig.ended[key] = "dead"
    await rig.dies(rig.ax.dispatch)
    await rig.revive(rig.ax.dispatch)


async def silent(rig, point):
    """A worker that says nothing, and lives: the attempt times out."""
    await rig.arm(rig.ax.dispatch, point)
    await rig.work()
    await rig.submit("silence,ack")
    await rig.dies(rig.ax.dispatch)
    await rig.revive(rig.ax.dispatch)


async def late(rig, point):
    """The ack of an attempt that was superseded. Heard, it spares the next attempt."""
    await rig.ax.put_pool("email", {**fault_rig.POOL, "backoff": "2s", "backoff_cap": "2s"})
    await rig.arm(rig.ax.dispatch, point)
    await rig.work()
    key = await rig.submit("late,ack")
    await rig.dies(rig.ax.dispatch)
    if point == "late.record.before":
        rig.ledger.acked.discard(key)  # nobody has heard that ack: the next attempt runs, the sink refuses it
    await rig.revive(rig.ax.dispatch)
    await rig.settled()
    assert point == "late.record.before" or rig.ledger.starts[key] == [1], "the retry was not dropped"
    await rig.ax.put_pool("email", fault_rig.POOL)


async def progress(rig, point):
    """A worker that takes longer than ack_wait and says so."""
    await rig.arm(rig.ax.dispatch, point)
    await rig.work()
    key = await rig.submit("hold")
    await rig.started(key)
    await rig.dies(rig.ax.dispatch)
    await rig.revive(rig.ax.dispatch)
    await asyncio.sleep(fault_rig.ACK_WAIT)  # it holds on, over the new dispatcher's first ack_wait
    rig.release(key)


async def ends_unheard(rig, point):
    """The worker finishes while no dispatcher listens."""
    dispatch = rig.ax.dispatch
    await rig.work()
    key = await rig.submit("hold")
    await rig.started(key)
    dispatch.kill()
    rig.release(key)
    await eventually(rig.is_gone_from_work, 10, "the hand-off is gone from AX_WORK")
    await rig.revive(dispatch, point)
    await rig.dies(dispatch)
    await rig.revive(dispatch)


async def terminated_unheard(rig, point):
    """The worker gave it up, and the dispatcher died before it was written down."""
    dispatch = rig.ax.dispatch
    await rig.arm(dispatch, "dead.publish.before")
    await rig.work()
    key = await rig.submit("term")
    rig.ended[key] = "dead"
    await rig.dies(dispatch)
    await eventually(rig.is_gone_from_work, 10, "the hand-off is gone from AX_WORK")
    await rig.revive(dispatch, point)
    await rig.dies(dispatch)
    await rig.revive(dispatch)


async def ended_elsewhere(rig, point):
    """Hand-off and queue message are both gone when it looks."""
    ax = rig.ax
    await rig.arm(ax.dispatch, point)
    await rig.work()
    key = await rig.submit("silence")
    await rig.started(key)
    task, _ = rig.tasks.pop(key)
    for stream, subject in (("AX_HIGH", f"ax.queue.high.email.{task}"), ("AX_WORK", f"ax.work.email.{task}")):
        _, _, seq = await ax.last(stream, subject)
        assert (await ax.api(f"STREAM.MSG.DELETE.{stream}", {"seq": seq})).get("success")
    await rig.say_max_deliveries(rig.ledger.fences[key])
    await rig.dies(ax.dispatch)
    await rig.revive(ax.dispatch)
    await rig.settled()
    assert rig.ledger.starts[key] == [1], "a task that somebody else had ended ran again"


async def undelivered(rig, point):
    """A hand-off that no worker has got: its pull went away."""
    ax = rig.ax
    await rig.arm(ax.dispatch, point)
    key = await rig.submit()
    request = json.dumps({"batch": 1, "expires": int(5e9)}).encode()
    await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", request, reply="_INBOX.nobody.there")
    _, _, seq = await eventually(lambda: ax.last("AX_WORK", f"ax.work.email.{rig.tasks[key][0]}"), 10, "handed off")
    await rig.say_max_deliveries(seq)
    await rig.dies(ax.dispatch)
    await rig.revive(ax.dispatch)
    await rig.work()


async def unfetched(rig, point):
    """A hand-off whose worker is gone is taken back: it has expired, or has lain there for too long."""
    ax = rig.ax
    await rig.arm(ax.dispatch, point)
    expires = point == "look.expired"
    key = await rig.submit(headers={"Ax-Expires": "1s"} if expires else None)
    request = json.dumps({"batch": 1, "expires": int(5e9)}).encode()
    await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", request, reply="_INBOX.nobody.there")
    await rig.dies(ax.dispatch)
    await rig.revive(ax.dispatch)
    if expires:
        rig.ended[key] = "dead"
        await eventually(lambda: ax.last("AX_DEAD", f"ax.dead.email.{rig.tasks[key][0]}"), 15, "a dead letter")
    await rig.work()


async def recreated(rig, point):
    """AX_WORK is deleted under a task at work: the one case in which an attempt runs again although its worker lives."""
    ax = rig.ax
    await rig.arm(ax.dispatch, point)
    await rig.work()
    key = await rig.submit("hold")
    await rig.started(key)
    rig.ledger.again_allowed.add(key)
    if point == "look.recreated":
        # It looks before it has heard that the stream is another one.
        work, consumer = await ax.stream("AX_WORK"), await ax.consumer("AX_WORK", "email")
        ax.dispatch.pause()
        ax.ingress.pause()  # it would make the stream anew, too
        await rig.say_max_deliveries(rig.ledger.fences[key])
        assert (await ax.api("STREAM.DELETE.AX_WORK")).get("success")
        first = work["state"]["last_seq"] + 1
        reply = await ax.api("STREAM.CREATE.AX_WORK", {**work["config"], "first_seq": first})
        assert "error" not in reply, reply
        reply = await ax.api("CONSUMER.DURABLE.CREATE.AX_WORK.email",
                             {"stream_name": "AX_WORK", "config": consumer["config"]})
        assert "error" not in reply, reply
        ax.dispatch.resume()
        ax.ingress.resume()
    else:
        assert (await ax.api("STREAM.DELETE.AX_WORK")).get("success")
    await rig.dies(ax.dispatch)
    await rig.revive(ax.dispatch)
    await eventually(lambda: len(rig.ledger.starts[key]) == 2, 15, "it is handed off anew")
    rig.release(key)
    await rig.set_pool()  # the consumer is new, too


async def swept(rig, point):
    """The dispatcher died between the ack of the queue message and the removal of the hand-off."""
    dispatch = rig.ax.dispatch
    await rig.arm(dispatch, "ending.ack.after")
    await rig.work()
    await rig.submit("nak,ack")
    await rig.dies(dispatch)
    await rig.revive(dispatch, point)
    await rig.dies(dispatch)
    await rig.revive(dispatch)


async def dies_when_back(rig, point, end):
    """Tasks are at work when the dispatcher ends; the next one dies at the point."""
    dispatch = rig.ax.dispatch
    await rig.work()
    keys = [await rig.submit("hold") for _ in range(2)]
    for key in keys:
        await rig.started(key)
    end(dispatch)
    await rig.revive(dispatch, point)
    await rig.dies(dispatch)
    await rig.revive(dispatch)
    for key in keys:
        rig.release(key)


async def adopted(rig, point):
    """The dispatcher was killed while tasks were at work."""
    await dies_when_back(rig, point, lambda dispatch: dispatch.kill())


async def held_by_dead(rig, point):
    """The dispatcher was killed while it held queue messages for which there was no demand."""
    dispatch = rig.ax.dispatch
    await dispatch.restart(hard=False)  # knows of no pull
    await rig.staged_without_demand()
    dispatch.kill()
    await rig.revive(dispatch, point)
    await rig.dies(dispatch)
    await rig.revive(dispatch)
    await rig.work()


async def stopped(rig, point):
    """Dies while it gives back what it holds, on SIGTERM."""
    dispatch = rig.ax.dispatch
    await rig.arm(dispatch, point)
    await rig.staged_without_demand()
    dispatch.p.terminate()
    await rig.dies(dispatch)
    await rig.revive(dispatch)
    await rig.work()


async def leading(rig, point):
    """The lease of the pool: taken at the start, renewed under work."""
    await dies_when_back(rig, point, lambda dispatch: dispatch.stop())


async def leaving(rig, point):
    """The lease is given up, on SIGTERM."""
    dispatch = rig.ax.dispatch
    await rig.arm(dispatch, point)
    await rig.work()
    key = await rig.submit("hold")
    await rig.started(key)
    dispatch.p.terminate()
    await rig.dies(dispatch)
    await rig.revive(dispatch)
    rig.release(key)


async def put_off(rig, point):
    """One key under two priorities at once: the second waits, and is dropped when the first is done."""
    ax = rig.ax
    await rig.arm(ax.dispatch, point)
    key = rig.key("twice")
    await asyncio.gather(rig.submit("ack", key, "high"), rig.submit("ack", key, "low"))
    await rig.work()
    await rig.dies(ax.dispatch)
    await rig.revive(ax.dispatch)


async def cancel_waiting(rig, point):
    """Cancelled where it waits."""
    dispatch = rig.ax.dispatch
    await rig.arm(dispatch, point)
    await rig.work()
    key = await rig.submit("ack", headers={"Ax-Delay": "1h"})
    rig.ended[key] = "cancelled"
    asking = asyncio.create_task(rig.cancel(key))
    await rig.dies(dispatch)
    await rig.revive(dispatch)
    await asking


async def put_back(rig, point):
    """A pool's entry is removed while a task of the pool waits: it is put back. An operator gives it its settings again."""
    ax = rig.ax
    await rig.arm(ax.dispatch, point)
    await rig.submit()

    async def is_put_back():  # a leader that does not know of the task yet forgets the pool
        await rig.set_pool()
        await ax.js.publish("$KV.AX_POOLS.email", b"", headers={"KV-Operation": "DEL"})
        return ax.dispatch.p.poll() is not None
    await eventually(is_put_back, 12, "the dispatcher puts the pool back")
    await rig.dies(ax.dispatch)
    await rig.revive(ax.dispatch)
    await rig.set_pool()
    await rig.work()


async def cancel_running(rig, point):
    """Cancelled at work. The worker's ack does not take the key."""
    dispatch = rig.ax.dispatch
    await rig.arm(dispatch, point)
    await rig.work()
    key = await rig.submit("silence,silence,silence")
    rig.ended[key] = "cancelled"
    await rig.started(key)
    asking = asyncio.create_task(rig.cancel(key))
    await rig.dies(dispatch)
    await rig.revive(dispatch)
    await asking


async def dead_retry(rig, point):
    """ax dead retry dies; it is said again."""
    await rig.work()
    key = await rig.submit("term")
    rig.ended[key] = "dead"
    task, pool = rig.tasks[key]
    await eventually(lambda: rig.ax.last("AX_DEAD", f"ax.dead.{pool}.{task}"), 10, "a dead letter")
    await rig.rest()
    await eventually(rig.is_gone_from_work, 10, "the hand-off is removed")
    code, text = await rig.command("dead", "retry", key, "--pool", pool, fault=point, check=False)
    assert code == -9, f"ax dead retry ended with {code}: {text}"
    rig.killed += 1
    rig.ledger.retried(key)
    if await rig.ax.last("AX_DEAD", f"ax.dead.{pool}.{task}"):
        await rig.command("dead", "retry", key, "--pool", pool)
    assert not await rig.ax.last("AX_DEAD", f"ax.dead.{pool}.{task}")
    assert await rig.ax.messages("AX_HIGH") == 1, "not in its queue once"
    await rig.work()


SCENARIOS = {
    "pool.add.before": put_back, "pool.add.after": put_back,
    "hand-off.publish.before": acked, "hand-off.publish.after": acked, "hand-off.repeat.after": ends_unheard,
    "hand-off.revoke.before": nakked, "hand-off.revoke.after": nakked,
    "finish.record.before": acked, "finish.record.after": acked, "finish.ack.after": acked,
    "late.record.before": late, "late.record.after": late, "drop.ack.before": put_off, "drop.ack.after": put_off,
    "later.publish.before": nakked, "later.publish.after": nakked, "dead.publish.before": termed, "dead.publish.after": termed,
    "ending.ack.before": nakked, "ending.ack.after": nakked, "ending.remove.before": nakked, "ending.remove.after": nakked,
    "ending.revoke.before": silent, "ending.revoke.after": silent, "look.timed-out": silent,
    "look.finished": ends_unheard, "look.terminated": terminated_unheard, "look.ended-elsewhere": ended_elsewhere,
    "look.expired": unfetched, "look.taken-back": unfetched,
    "look.waits": undelivered, "look.recreated": recreated, "lose.nak.before": recreated, "lose.nak.after": recreated,
    "adopt.renew.before": adopted, "adopt.renew.after": adopted, "adopt.end": adopted,
    "adopt.give-back.before": held_by_dead, "adopt.give-back.after": held_by_dead,
    "sweep.remove.before": swept, "sweep.remove.after": swept, "renew.before": progress, "renew.after": progress,
    "stop.give-back.before": stopped, "stop.give-back.after": stopped,
    "queue.put-off.before": put_off, "queue.put-off.after": put_off,
    "cancel.delete.before": cancel_waiting, "cancel.delete.after": cancel_waiting,
    "cancel.record.before": cancel_waiting, "cancel.record.after": cancel_waiting,
    "cancel.answer.before": cancel_waiting, "cancel.answer.after": cancel_waiting,
    "lease.take.before": leading, "lease.take.after": leading, "lease.renew.before": leading, "lease.renew.after": leading,
    "lease.give-up.before": leaving, "lease.give-up.after": leaving,
    "cancel.ack.before": cancel_running, "cancel.ack.after": cancel_running,
}

COMMANDS = {
    "dead-retry.publish.before": dead_retry, "dead-retry.publish.after": dead_retry,
    "dead.delete.before": dead_retry, "dead.delete.after": dead_retry,
}
