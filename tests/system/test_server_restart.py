# The server restarted in the middle of the work, once in order and once with kill -9: everything resumes by itself,
# nothing is lost, and only what was in flight may have run again.
# ctest: timeout=200
import asyncio
import collections

from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"batch": 10, "backoff": "100ms"}, ack_wait=3)
    worker = await ax.worker(pulls=8, batch=5)
    pushed, enough, twice = 0, False, {}

    def tasks():  # for as long as it takes: the machine may be fast
        nonlocal pushed
        while not enough:
            pushed += 1
            yield f"order-{pushed}", "x"

    push = asyncio.create_task(ax.push(tasks(), producers=4, window=20))
    for name in ("stopped", "killed"):
        begun = len(worker.starts)
        await eventually(lambda n=begun: len(worker.starts) > n + 1500, 60, "under way")
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
    enough = True
    answers = await push
    await ax.settled(pushed, 60)
    runs = collections.Counter(t.key for t in worker.starts)
    assert len(runs) == pushed, f"{pushed - len(runs)} lost"
    print(pushed, "tasks,", answers, "run again so far:", twice, "in the end:", len(worker.starts) - pushed)
    # What was under way at most: 8 pulls of 5, and the hand-offs and acks the server had not yet written down.
    assert len(worker.starts) - pushed <= 600, f"{len(worker.starts) - pushed} tasks ran again"
    await eventually(lambda: ax.ingress.get("/readyz")[0] == 200 and ax.dispatch.get("/readyz")[0] == 200, 10)


run(test, 190)
