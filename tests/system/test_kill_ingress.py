# kill -9 of ingress in the middle of 20,000 keyed tasks, several times: none is lost, none runs twice.
# ctest: timeout=240
import asyncio

from harness import eventually, run
from kill import check, tasks

COUNT = 20000


async def test(ax):
    await ax.pool("email", {"batch": 50})
    worker = await ax.worker(pulls=16, batch=10)
    push = asyncio.create_task(ax.push(tasks(COUNT), producers=8, window=50))
    for part in (3000, 8000, 14000):
        await eventually(lambda p=part: len(worker.starts) > p or push.done(), 60, f"{part} tasks started")
        assert not push.done(), "the producers were done before the kill: it hit nothing"
        ax.ingress.kill()
        ax.ingress.start()
    answers = await push
    await ax.ingress.ready()
    await ax.settled(COUNT, 60)
    print(answers)
    assert answers["unknown"] > 0, "no submission was under way when ingress was killed"
    check([worker], COUNT)


run(test, 220)
