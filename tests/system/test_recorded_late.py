# Tasks that the former leader could record only after another dispatcher had taken over and had read AX_DONE, while a
# killed server redelivers them as if they were new: they are found done, and do not start again.
# ctest: sanitize=address
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", ack_wait=5)
    worker = await ax.worker(pulls=2)
    answers = [await ax.submit("x", key) for key in ("order-1", None)]
    await ax.settled(2, 20)
    await worker.stop()
    records = [(s, await ax.last("KV_AX_DONE", s)) for s in await ax.subjects("KV_AX_DONE")]
    assert records
    await asyncio.to_thread(ax.dispatch.kill)
    assert (await ax.api("STREAM.PURGE.KV_AX_DONE"))["success"]
    for answer in answers:
        await ax.js.publish(f"ax.queue.high.email.{answer['task']}", b"x", headers={"Ax-Submitted": "1"})
    ax.dispatch.start()
    await ax.dispatch.ready()

    async def are_known():
        return (await ax.consumer("AX_HIGH", "email"))["num_ack_pending"] > 0
    await eventually(are_known, 20, "the new leader takes them")
    assert "records=0" in ax.dispatch.log(), "it has read AX_DONE"
    for subject, (headers, data, _) in records:
        await ax.js.publish(subject, data, headers={k: v for k, v in headers.items() if k == "Nats-TTL"})

    again = await ax.worker(pulls=2)
    await eventually(lambda: again.starts or ax.dispatch.metric("ax_duplicates_dropped_total") == 2, 20, "both looked at")
    assert not again.starts, again.starts
    assert await ax.unfinished() == 0


run(test)
