# The server restarted in the middle of the work, once in order and once with kill -9: everything resumes by itself,
# nothing is lost, and only what was in flight may have run again.
# ctest: timeout=200
import asyncio
import collections

from harness import eventually, run
from kill import tasks

COUNT = 8000


async def test(ax):
    await ax.pool("email", {"batch": 10, "backoff": "100ms"}, ack_wait=3)
    worker = await ax.worker(pulls=8, batch=5)
    push = asyncio.create_task(ax.push(tasks(COUNT), producers=4, window=20))
    twice = {}
    for name, part in (("stopped", 1500), ("killed", 3500)):
        await eventually(lambda p=part: len(worker.starts) > p, 60, f"{part} tasks started")
        assert not push.done(), "the producers were done before the restart: it hit nothing"
        pids = [d.p.pid for d in (ax.ingress, ax.dispatch)]
        if name == "stopped":
            assert ax.server.stop() in (0, 1)
        else:
            ax.server.kill()
        await asyncio.sleep(0.5)  # a while without a server
        starts = len(worker.starts)
        ax.server.start()
        await ax.server_ready()
        await eventually(lambda n=starts: len(worker.starts) > n + 200, 30, f"work goes on after the server was {name}")
        twice[name] = len(worker.starts) - len({t.key for t in worker.starts})
        assert pids == [d.p.pid for d in (ax.ingress, ax.dispatch)] and ax.ingress.running() and ax.dispatch.running()
    answers = await push
    await ax.settled(COUNT, 60)
    runs = collections.Counter(t.key for t in worker.starts)
    assert len(runs) == COUNT, f"{COUNT - len(runs)} lost"
    print(answers, "run again so far:", twice, "in the end:", len(worker.starts) - COUNT)
    # What was under way at most: 8 pulls of 5, and the hand-offs and acks the server had not yet written down.
    assert len(worker.starts) - COUNT <= 600, f"{len(worker.starts) - COUNT} tasks ran again"
    await eventually(lambda: ax.ingress.get("/readyz")[0] == 200 and ax.dispatch.get("/readyz")[0] == 200, 10)


run(test, 190)
