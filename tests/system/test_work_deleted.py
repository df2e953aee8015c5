# AX_WORK deleted under the running daemons: it is made again, and no task that was in it counts as done.
# ctest: timeout=150
import asyncio

from harness import eventually, run

COUNT = 40


async def test(ax):
    await ax.pool("email", {"batch": 5, "backoff": "100ms"}, ack_wait=3)
    release = asyncio.Event()

    async def handler(task):
        if not release.is_set():
            await release.wait()
            return "silence"  # these workers died with what they held

    worker = await ax.worker(handler=handler, pulls=4, batch=2)
    for i in range(COUNT):
        await ax.submit("x", f"k{i}")
    await eventually(lambda: held(ax, 8), 10, "tasks are at work")
    first = {t.key for t in worker.starts}
    highest = max(t.fence for t in worker.starts)
    held_before = len(worker.starts)
    assert (await ax.api("STREAM.DELETE.AX_WORK")).get("success")
    await eventually(lambda: ax.consumer("AX_WORK", "email"), 15, "AX_WORK and its consumer are there again")
    assert await ax.done() == 0, "something passed for done that no worker finished"
    assert "AX_WORK" in ax.dispatch.log()
    release.set()
    await ax.settled(COUNT, 60)
    finished = {t.key for t in worker.finished}
    assert len(finished) == COUNT, f"{COUNT - len(finished)} recorded as done without a worker's ack"
    assert first <= finished
    lowest = min(t.fence for t in worker.starts[held_before:])
    assert lowest > highest, f"fencing token {lowest} came after {highest}"

    # The same while no dispatcher looks.
    release.clear()
    before = len(worker.starts)
    for i in range(COUNT):
        await ax.submit("x", f"again-{i}")
    await eventually(lambda: len(worker.starts) > before, 10)
    ax.dispatch.kill()
    assert (await ax.api("STREAM.DELETE.AX_WORK")).get("success")
    release.set()
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.settled(2 * COUNT, 60)
    finished = {t.key for t in worker.finished}
    assert len(finished) == 2 * COUNT, f"{2 * COUNT - len(finished)} recorded as done without a worker's ack"


async def held(ax, count):
    return (await ax.consumer("AX_WORK", "email"))["num_ack_pending"] >= count


run(test, 140)
