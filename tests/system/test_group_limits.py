# group_concurrency 1 with 8 workers: never two of a group at once, in whatever priority, with a dispatcher killed in
# between; other groups do not wait for one that is at its limit; group_rate holds for each group by itself.
# ctest: timeout=300
import asyncio
import collections
import os
import time

from harness import SLOW, eventually, run

GROUPS, EACH = 10, int(os.environ.get("AX_GROUP_TASKS") or 80)  # tasks of each; `make tenants` takes more


async def test(ax):
    await ax.pool("email", {"group_concurrency": 1, "backoff": "1ms"}, ack_wait=4)
    running, most, together = collections.Counter(), 0, 0

    async def handler(task):
        nonlocal most, together
        name = task.headers["Ax-Group"]
        running[name] += 1
        most = max(most, running[name])
        together = max(together, sum(running.values()))
        await asyncio.sleep(0.003)
        running[name] -= 1
        return "nak" if task.body == b"again" and task.attempt == 1 else "ack"

    workers = [await ax.worker(handler=handler, pulls=1) for _ in range(8)]

    async def push(name, priority):
        for i in range(EACH // 2):
            await ax.submit("again" if i % 20 == 0 else "once", f"{name}-{priority}-{i}", priority,
                            headers={"Ax-Group": name}, retry=True)

    pushing = asyncio.gather(*(push(f"tenant-{g}", p) for g in range(GROUPS) for p in ("normal", "low")))
    for part in (0.15, 0.5):
        await eventually(lambda n=part * GROUPS * EACH: sum(len(w.starts) for w in workers) > n, 90, f"{part:.0%} started")
        ax.dispatch.kill()
        ax.dispatch.start()
    await pushing
    await ax.settled(GROUPS * EACH, 60 + GROUPS * EACH / 100)
    assert most == 1, f"{most} of a group at once"
    assert together >= 4, f"only {together} groups at once: the groups waited for each other"
    starts = sum(len(w.starts) for w in workers)
    again = len(range(0, EACH // 2, 20))
    assert starts == GROUPS * EACH + GROUPS * 2 * again, starts

    # A group at its limit with hundreds at the front of the queue holds up nobody.
    held = asyncio.Event()

    async def hold(task):
        if task.body == b"hold":
            await held.wait()

    await ax.pool("sms", {"group_concurrency": 1})
    sms = await ax.worker("sms", hold, pulls=4)
    for i in range(700):
        await ax.submit("hold" if i == 0 else "x", pool="sms", priority="low", headers={"Ax-Group": "stuck"})
    for i in range(20):
        await ax.submit("x", pool="sms", priority="low", headers={"Ax-Group": f"free-{i}"})
    await eventually(lambda: len(sms.finished) == 20, 60, "the others done")
    assert all(t.headers["Ax-Group"] != "stuck" for t in sms.finished)
    held.set()
    await eventually(lambda: len(sms.finished) == 720, 60, "all done")

    # The rate of a group: 2 + 20·t starts in any t seconds, of each group.
    await ax.pool("push", {"group_rate": 20, "group_burst": 2})
    push_worker = await ax.worker("push", pulls=4)
    for i in range(30):
        for name in ("a", "b"):
            await ax.submit("x", pool="push", headers={"Ax-Group": name})
    await ax.submit("x", pool="push")
    await eventually(lambda: len(push_worker.starts) == 61, 60, "all started")
    first = push_worker.starts[0].started
    for name in ("a", "b"):
        times = [t.started for t in push_worker.starts if t.headers.get("Ax-Group") == name]
        took = times[-1] - times[0]
        assert took >= (30 - 2 - 1) / 20 - 0.1, f"{name}: 30 starts in {took:.2f} s"
        print(f"{name}: 30 starts in {took:.2f} s at 20/s")
    assert time.monotonic() - first < 20 * SLOW

    # Nothing is kept of groups that are over.
    await eventually(lambda: ax.dispatch.metric("ax_groups_active") == 0, 15, "no groups left")


run(test, 240 + GROUPS * EACH / 50)
