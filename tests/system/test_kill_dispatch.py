# kill -9 of dispatch in the middle of 20,000 keyed tasks, several times: all are done, and no task whose worker lived
# runs again.
# ctest: timeout=240
import asyncio

from harness import eventually, run
from kill import check, tasks

COUNT = 20000


async def test(ax):
    await ax.pool("email", {"batch": 50}, ack_wait=4)
    await ax.pool("long", {"batch": 4}, ack_wait=4)
    release = asyncio.Event()

    async def long_handler(task):
        while not release.is_set():
            await asyncio.sleep(0.5)
            await task.progress()

    # Some tasks are at work over all the kills, and their acks come when there is a new dispatcher.
    long_worker = await ax.worker("long", long_handler, pulls=4)
    for i in range(4):
        await ax.submit(f"body {i}", f"order-{i}", pool="long")
    await eventually(lambda: len(long_worker.starts) == 4, 10, "long tasks at work")

    worker = await ax.worker(pulls=16, batch=10)
    push = asyncio.create_task(ax.push(tasks(COUNT), producers=4, window=50))
    for part in (3000, 8000, 14000):
        await eventually(lambda p=part: len(worker.starts) > p, 60, f"{part} tasks started")
        assert len(worker.starts) < COUNT, "the tasks were done before the kill: it hit nothing"
        ax.dispatch.kill()
        ax.dispatch.start()
    answers = await push
    await ax.dispatch.ready()
    release.set()
    await ax.settled(COUNT + 4, 90)
    assert answers["queued"] + answers["duplicate"] == COUNT, answers
    check([worker], COUNT)
    check([long_worker], 4)
    assert all(t.attempt == 1 for t in worker.starts + long_worker.starts)

    # Acks given while nobody dispatches are found when one is back.
    release.clear()
    for i in range(4, 8):
        await ax.submit(f"body {i}", f"order-{i}", pool="long")
    await eventually(lambda: len(long_worker.starts) == 8, 10, "long tasks at work again")
    ax.dispatch.kill()
    release.set()
    await eventually(lambda: len(long_worker.finished) == 8, 10, "acked without a dispatcher")
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.settled(COUNT + 8, 60)
    assert len(long_worker.starts) == 8


run(test, 220)
