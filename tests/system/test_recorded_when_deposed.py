# A dispatcher loses its pool while the records of acked tasks are on their way, and leads it again. It knows these
# records, although it did not wait for their answers any more. The tasks are in their queue as if new, and do not start
# again.
# ctest: sanitize=address
import asyncio

from harness import eventually, run

TASKS = 20
AWAY = "nobody-at-all"


async def test(ax):
    await ax.pool("email", ack_wait=3)
    release = asyncio.Event()

    async def handler(_):
        await release.wait()

    worker = await ax.worker(handler=handler, pulls=TASKS)
    for i in range(TASKS):
        await ax.submit("x", f"order-{i}")
    await eventually(lambda: len(worker.starts) == TASKS, 20, "all at work")

    # Publishes to AX_DONE get no answer: another stream takes them, which gives none.
    done = (await ax.stream("KV_AX_DONE"))["config"]
    assert (await ax.api("STREAM.DELETE.KV_AX_DONE"))["success"]
    reply = await ax.api("STREAM.CREATE.SILENT", {"name": "SILENT", "subjects": done["subjects"], "no_ack": True})
    assert "error" not in reply, reply
    release.set()
    await eventually(lambda: len(worker.finished) == TASKS, 10, "all acked")
    await eventually(lambda: nothing_in(ax, "AX_WORK"), 10, "acks taken")
    [(subject, lease)] = [(s, await ax.last("KV_AX_LEASES", s)) for s in await ax.subjects("KV_AX_LEASES") if s.endswith(".email")]
    await ax.js.publish(subject, another_holder(lease[1]))
    await eventually(lambda: '"lease lost" pool=email' in ax.dispatch.log(), 20, "the lease lost")
    assert (await ax.api("STREAM.PURGE.AX_HIGH"))["success"]
    tasks = sorted({t.id for t in worker.starts})
    await put(ax, tasks[::2])  # these may come before the records are stored
    assert (await ax.api("STREAM.DELETE.SILENT"))["success"]
    await eventually(lambda: ax.dispatch.log().count('"pool ready" pool=email') == 2, 40, "it leads again")
    await ax.settled(TASKS, 60)
    assert (await ax.record_batches())[0], "no record batch: nothing shown"
    await put(ax, tasks[1::2])
    await eventually(lambda: nothing_in(ax, "AX_HIGH"), 20, "the copies dropped")
    again = [t.id for t in worker.starts[TASKS:]]
    assert not again, (len(again), [t in tasks[1::2] for t in again])


async def put(ax, tasks):
    for task in tasks:
        await ax.js.publish(f"ax.queue.high.email.{task}", b"x", headers={"Ax-Submitted": "1"})


def another_holder(data):
    """The lease (ax.v1.Lease, field 1: its holder) in another name of the same length."""
    assert data[0] == 0x0a, data
    length = data[1]
    return data[:2] + (AWAY * length)[:length].encode() + data[2 + length:]


async def nothing_in(ax, stream):
    return await ax.messages(stream) == 0


run(test)
