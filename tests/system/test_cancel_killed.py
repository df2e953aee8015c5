# The dispatcher is killed in the middle of many cancellations. Asked again, the next one says of every task that it is
# cancelled, since each was noted down before it was removed; and none of them ever starts.
# ctest: sanitize=address
import asyncio
import json

from harness import eventually, own, run

TASKS = 300


async def ask(ax, task, timeout=15):
    reply = await ax.nc.request(f"ax.cancel.email.{task}", b"", timeout=timeout)
    return json.loads(reply.data)


async def test(ax):
    await ax.pool("email")
    tasks = [(await ax.submit("x", f"order-{i}", headers={"Ax-Delay": "1h"} if i % 3 == 0 else None))["task"]
             for i in range(TASKS)]
    asking = [asyncio.create_task(ask(ax, t, 1)) for t in tasks]
    stored = await ax.unfinished()

    async def under_way():
        return await ax.unfinished() < stored - TASKS / 3
    await eventually(under_way, 10, "a third of them is removed", every=0.001)
    ax.dispatch.kill()
    first = [a for a in await asyncio.gather(*asking, return_exceptions=True) if isinstance(a, dict)]
    ax.dispatch.start()
    await ax.dispatch.ready()

    async def again(task):
        async def cancelled():
            return (await ask(ax, task)).get("state")
        return await eventually(cancelled, 20, "an answer")
    states = await asyncio.gather(*map(again, tasks))
    assert set(states) == {"cancelled"}, {s: states.count(s) for s in states}
    assert len(first) < TASKS and all(a["state"] == "cancelled" for a in first), first
    assert await ax.unfinished() == 0
    worker = await ax.worker()
    await ax.submit("x", "last")
    await eventually(lambda: worker.finished, 10, "the pool works")
    assert [t.key for t in worker.starts] == ["last"]

    # Submitted again, a key is what it is now.
    await worker.stop()
    await ax.put_pool("email", {"paused": True})
    assert not (await ax.submit("x", "order-1"))["duplicate"]
    text = await ax.command(own("ax"), "status", "order-1", "--pool", "email", "--json")
    assert json.loads(text)["state"] == "queued", text


run(test)
