# 5,000 tasks from 8 producers into a bound of 1,000 on three replicas, while leaders of the queue change: as many are
# stored as were accepted, never more than the bound, and each refused one gets the error.
# ctest: timeout=120
import asyncio

from cluster import run
from harness import QUEUES, Refused

COUNT, PRODUCERS, WINDOW, BOUND = 5000, 8, 32, 1000


async def test(ax):
    c = ax.cluster
    await c.ready()
    tasks = iter(range(COUNT))
    accepted, refused, most = {}, [], 0
    flooding = True

    async def producer(nc):
        for i in tasks:
            try:
                # Every second task has a key.
                answer = await ax.submit("x", f"k{i}" if i % 2 else None, nc=nc, timeout=30)
                assert not answer["duplicate"] or i % 2, f"a task without a key is a duplicate: {answer}"
                accepted[i] = answer["task"]
            except Refused as error:
                assert error.err_code == 10077 and "is full (1000 tasks), retry in" in str(error), error.error
                refused.append(i)

    async def watch():
        nonlocal most
        while flooding:
            try:
                most = max(most, (await c.api("STREAM.INFO.AX_HIGH", timeout=0.5))["state"]["messages"])
            except Exception:  # noqa: BLE001  no leader just now
                pass
            await asyncio.sleep(0.005)

    async def change_leaders():
        changes = 0
        while flooding:
            await c.step_down("AX_HIGH")
            changes += 1
            await asyncio.sleep(0.1)
        return changes

    watching, changing = asyncio.create_task(watch()), asyncio.create_task(change_leaders())
    connections = [await ax.connect(f"producer-{i}") for i in range(PRODUCERS)]
    await asyncio.gather(*(producer(nc) for nc in connections for _ in range(WINDOW)))
    flooding = False
    await watching
    changes = await changing

    stored = await ax.subjects("AX_HIGH")
    print(f"accepted {len(accepted)}, refused {len(refused)}, most stored at a time {most}, leader changes {changes}")
    assert len(accepted) + len(refused) == COUNT
    assert {f"ax.queue.high.email.{task}" for task in accepted.values()} == set(stored), "accepted is not stored"
    assert len(accepted) == len(stored) == sum(stored.values()) == BOUND >= most, (len(accepted), len(stored), most)
    assert changes > 0 and await ax.messages(*QUEUES.values()) == BOUND


run(test, ingress=2, dispatch=0)
