"""Scenarios that lead ax-dispatch, and `ax dead`, to each of their fault points."""
import asyncio
import json

from harness import eventually

import fault_lane


async def acked(lane, point):
    """Tasks whose workers ack."""
    await lane.arm(lane.ax.dispatch, point)
    await lane.work()
    keys = [await lane.submit() for _ in range(3)]
    await lane.dies(lane.ax.dispatch)
    await lane.revive(lane.ax.dispatch)
    await lane.submit(key=keys[0])  # a producer that asks again


async def nakked(lane, point):
    """The first attempt fails."""
    await lane.arm(lane.ax.dispatch, point)
    await lane.work()
    await lane.submit("nak,ack")
    await lane.dies(lane.ax.dispatch)
    await lane.revive(lane.ax.dispatch)


async def termed(lane, point):
    """Failed for good."""
    await lane.arm(lane.ax.dispatch, point)
    await lane.work()
    key = await lane.submit("term")
    lane.ended[key] = "dead"
    await lane.dies(lane.ax.dispatch)
    await lane.revive(lane.ax.dispatch)


async def silent(lane, point):
    """A worker that says nothing, and lives: the attempt times out."""
    await lane.arm(lane.ax.dispatch, point)
    await lane.work()
    await lane.submit("silence,ack")
    await lane.dies(lane.ax.dispatch)
    await lane.revive(lane.ax.dispatch)


async def late(lane, point):
    """The ack of an attempt that was superseded. Heard, it spares the next attempt."""
    await lane.ax.put_pool("email", {**fault_lane.POOL, "backoff": "2s", "backoff_cap": "2s"})
    await lane.arm(lane.ax.dispatch, point)
    await lane.work()
    key = await lane.submit("late,ack")
    await lane.dies(lane.ax.dispatch)
    if point == "late.record.before":
        lane.ledger.acked.discard(key)  # nobody has heard that ack: the next attempt runs, the sink refuses it
    await lane.revive(lane.ax.dispatch)
    await lane.settled()
    assert point == "late.record.before" or lane.ledger.starts[key] == [1], "the retry was not dropped"
    await lane.ax.put_pool("email", fault_lane.POOL)


async def progress(lane, point):
    """A worker that takes longer than ack_wait and says so."""
    await lane.arm(lane.ax.dispatch, point)
    await lane.work()
    key = await lane.submit("hold")
    await lane.started(key)
    await lane.dies(lane.ax.dispatch)
    await lane.revive(lane.ax.dispatch)
    await asyncio.sleep(fault_lane.ACK_WAIT)  # it holds on, over the new dispatcher's first ack_wait
    lane.release(key)


async def ends_unheard(lane, point):
    """The worker finishes while no dispatcher listens."""
    dispatch = lane.ax.dispatch
    await lane.work()
    key = await lane.submit("hold")
    await lane.started(key)
    dispatch.kill()
    lane.release(key)
    await eventually(lane.is_gone_from_work, 10, "the hand-off is gone from AX_WORK")
    await lane.revive(dispatch, point)
    await lane.dies(dispatch)
    await lane.revive(dispatch)


async def terminated_unheard(lane, point):
    """The worker gave it up, and the dispatcher died before it was written down."""
    dispatch = lane.ax.dispatch
    await lane.arm(dispatch, "dead.publish.before")
    await lane.work()
    key = await lane.submit("term")
    lane.ended[key] = "dead"
    await lane.dies(dispatch)
    await eventually(lane.is_gone_from_work, 10, "the hand-off is gone from AX_WORK")
    await lane.revive(dispatch, point)
    await lane.dies(dispatch)
    await lane.revive(dispatch)


async def ended_elsewhere(lane, point):
    """Hand-off and queue message are both gone when it looks."""
    ax = lane.ax
    await lane.arm(ax.dispatch, point)
    await lane.work()
    key = await lane.submit("silence")
    await lane.started(key)
    task, _ = lane.tasks.pop(key)
    for stream, subject in (("AX_HIGH", f"ax.queue.high.email.{task}"), ("AX_WORK", f"ax.work.email.{task}")):
        _, _, seq = await ax.last(stream, subject)
        assert (await ax.api(f"STREAM.MSG.DELETE.{stream}", {"seq": seq})).get("success")
    await lane.say_max_deliveries(lane.ledger.fences[key])
    await lane.dies(ax.dispatch)
    await lane.revive(ax.dispatch)
    await lane.settled()
    assert lane.ledger.starts[key] == [1], "a task that somebody else had ended ran again"


async def undelivered(lane, point):
    """A hand-off that no worker has got: its pull went away."""
    ax = lane.ax
    await lane.arm(ax.dispatch, point)
    key = await lane.submit()
    request = json.dumps({"batch": 1, "expires": int(5e9)}).encode()
    await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", request, reply="_INBOX.nobody.there")
    _, _, seq = await eventually(lambda: ax.last("AX_WORK", f"ax.work.email.{lane.tasks[key][0]}"), 10, "handed off")
    await lane.say_max_deliveries(seq)
    await lane.dies(ax.dispatch)
    await lane.revive(ax.dispatch)
    await lane.work()


async def recreated(lane, point):
    """AX_WORK is deleted under a task at work: the one case in which an attempt runs again although its worker lives."""
    ax = lane.ax
    await lane.arm(ax.dispatch, point)
    await lane.work()
    key = await lane.submit("hold")
    await lane.started(key)
    lane.ledger.again_allowed.add(key)
    if point == "look.recreated":
        # It looks before it has heard that the stream is another one.
        work, consumer = await ax.stream("AX_WORK"), await ax.consumer("AX_WORK", "email")
        ax.dispatch.pause()
        ax.ingress.pause()  # it would make the stream anew, too
        await lane.say_max_deliveries(lane.ledger.fences[key])
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
    await lane.dies(ax.dispatch)
    await lane.revive(ax.dispatch)
    await eventually(lambda: len(lane.ledger.starts[key]) == 2, 15, "it is handed off anew")
    lane.release(key)
    await lane.set_pool()  # the consumer is new, too


async def swept(lane, point):
    """The dispatcher died between the ack of the queue message and the removal of the hand-off."""
    dispatch = lane.ax.dispatch
    await lane.arm(dispatch, "ending.ack.after")
    await lane.work()
    await lane.submit("nak,ack")
    await lane.dies(dispatch)
    await lane.revive(dispatch, point)
    await lane.dies(dispatch)
    await lane.revive(dispatch)


async def adopted(lane, point):
    """The dispatcher was killed while tasks were at work."""
    dispatch = lane.ax.dispatch
    await lane.work()
    keys = [await lane.submit("hold") for _ in range(2)]
    for key in keys:
        await lane.started(key)
    dispatch.kill()
    await lane.revive(dispatch, point)
    await lane.dies(dispatch)
    await lane.revive(dispatch)
    for key in keys:
        lane.release(key)


async def held_by_dead(lane, point):
    """The dispatcher was killed while it held queue messages for which there was no demand."""
    dispatch = lane.ax.dispatch
    await dispatch.restart(hard=False)  # knows of no pull
    await lane.staged_without_demand()
    dispatch.kill()
    await lane.revive(dispatch, point)
    await lane.dies(dispatch)
    await lane.revive(dispatch)
    await lane.work()


async def stopped(lane, point):
    """Dies while it gives back what it holds, on SIGTERM."""
    dispatch = lane.ax.dispatch
    await lane.arm(dispatch, point)
    await lane.staged_without_demand()
    dispatch.p.terminate()
    await lane.dies(dispatch)
    await lane.revive(dispatch)
    await lane.work()


async def leading(lane, point):
    """The lease of the pool: taken at the start, renewed under work."""
    dispatch = lane.ax.dispatch
    await lane.work()
    keys = [await lane.submit("hold") for _ in range(2)]
    for key in keys:
        await lane.started(key)
    dispatch.stop()
    await lane.revive(dispatch, point)
    await lane.dies(dispatch)
    await lane.revive(dispatch)
    for key in keys:
        lane.release(key)


async def leaving(lane, point):
    """The lease is given up, on SIGTERM."""
    dispatch = lane.ax.dispatch
    await lane.arm(dispatch, point)
    await lane.work()
    key = await lane.submit("hold")
    await lane.started(key)
    dispatch.p.terminate()
    await lane.dies(dispatch)
    await lane.revive(dispatch)
    lane.release(key)


async def put_off(lane, point):
    """One key under two priorities at once: the second waits, and is dropped when the first is done."""
    ax = lane.ax
    await lane.arm(ax.dispatch, point)
    key = lane.key("twice")
    await asyncio.gather(lane.submit("ack", key, "high"), lane.submit("ack", key, "low"))
    await lane.work()
    await lane.dies(ax.dispatch)
    await lane.revive(ax.dispatch)


async def cancel_waiting(lane, point):
    """Cancelled where it waits."""
    dispatch = lane.ax.dispatch
    await lane.arm(dispatch, point)
    await lane.work()
    key = await lane.submit("ack", headers={"Ax-Delay": "1h"})
    lane.ended[key] = "cancelled"
    asking = asyncio.create_task(lane.cancel(key))
    await lane.dies(dispatch)
    await lane.revive(dispatch)
    await asking


async def cancel_running(lane, point):
    """Cancelled at work. The worker's ack does not take the key."""
    dispatch = lane.ax.dispatch
    await lane.arm(dispatch, point)
    await lane.work()
    key = await lane.submit("silence,silence,silence")
    lane.ended[key] = "cancelled"
    await lane.started(key)
    asking = asyncio.create_task(lane.cancel(key))
    await lane.dies(dispatch)
    await lane.revive(dispatch)
    await asking


async def dead_retry(lane, point):
    """ax dead retry dies; it is said again."""
    await lane.work()
    key = await lane.submit("term")
    lane.ended[key] = "dead"
    task, pool = lane.tasks[key]
    await eventually(lambda: lane.ax.last("AX_DEAD", f"ax.dead.{pool}.{task}"), 10, "a dead letter")
    await lane.rest()
    await eventually(lane.is_gone_from_work, 10, "the hand-off is removed")
    code, text = await lane.command("dead", "retry", key, "--pool", pool, fault=point, check=False)
    assert code == -9, f"ax dead retry ended with {code}: {text}"
    lane.killed += 1
    lane.ledger.retried(key)
    if await lane.ax.last("AX_DEAD", f"ax.dead.{pool}.{task}"):
        await lane.command("dead", "retry", key, "--pool", pool)
    assert not await lane.ax.last("AX_DEAD", f"ax.dead.{pool}.{task}")
    assert await lane.ax.messages("AX_HIGH") == 1, "not in its queue once"
    await lane.work()


SCENARIOS = {
    "hand-off.publish.before": acked, "hand-off.publish.after": acked, "hand-off.repeat.after": ends_unheard,
    "hand-off.revoke.before": nakked, "hand-off.revoke.after": nakked,
    "finish.record.before": acked, "finish.record.after": acked, "finish.ack.after": acked,
    "late.record.before": late, "late.record.after": late, "drop.ack.before": put_off, "drop.ack.after": put_off,
    "later.publish.before": nakked, "later.publish.after": nakked, "dead.publish.before": termed, "dead.publish.after": termed,
    "ending.ack.before": nakked, "ending.ack.after": nakked, "ending.remove.before": nakked, "ending.remove.after": nakked,
    "ending.revoke.before": silent, "ending.revoke.after": silent, "look.timed-out": silent,
    "look.finished": ends_unheard, "look.terminated": terminated_unheard, "look.ended-elsewhere": ended_elsewhere,
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
