# A keyless task that is done and whose queue message is redelivered (its ack was lost, and the servers have forgotten
# the message id of its hand-off) is not run again, although its record stands in a batch.
import asyncio

from harness import eventually, run

COUNT = 400


async def test(ax):
    await ax.pool("email", ack_wait=5)
    await asyncio.gather(*(ax.worker(pulls=4, batch=8) for _ in range(2)))
    answers = await asyncio.gather(*(ax.submit("x") for _ in range(COUNT)))
    await ax.settled(COUNT, 60)
    batches, _ = await ax.record_batches()
    assert batches, "no record in a batch"
    alone = await ax.api("STREAM.INFO.KV_AX_DONE", {"subjects_filter": "$KV.AX_DONE.*"})
    alone = {s.split(".")[2] for s in alone["state"].get("subjects") or {}}
    batched = next(a["task"] for a in answers if a["task"] not in alone)
    starts = sum(len(w.starts) for w in ax.workers)

    async def is_dropped():
        async def check():
            return ax.dispatch.metric("ax_duplicates_dropped_total") == 1 and await ax.unfinished() == 0
        await eventually(check, 30, "the task dropped")
        assert sum(len(w.starts) for w in ax.workers) == starts

    async def no_pull():
        return (await ax.consumer("AX_HIGH", "email"))["num_waiting"] == 0

    for task in (batched, *sorted(alone)[:1]):
        await asyncio.to_thread(ax.dispatch.kill)
        await eventually(no_pull, 10, "the pulls of the one that was killed are gone")
        await ax.js.publish(f"ax.queue.high.email.{task}", b"x", headers={"Ax-Submitted": "1"})
        # Delivered once before, to somebody who was killed.
        inbox = ax.nc.new_inbox()
        sub = await ax.nc.subscribe(inbox)
        await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_HIGH.email", b'{"batch":1,"expires":5000000000}', reply=inbox)
        msg = await sub.next_msg(10)
        assert msg.subject.endswith(task), msg
        await ax.nc.publish(msg.reply, b"-NAK")
        await sub.unsubscribe()
        ax.dispatch.start()
        await ax.dispatch.ready()
        await is_dropped()


run(test, 100)
