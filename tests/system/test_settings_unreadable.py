# Settings that cannot be read are not the defaults: a dispatcher that knows no former ones starts nothing of the pool
# and says so, one that does goes on with those; and what was only heard, and refused by the bucket, decides nothing.
import asyncio
import json

from harness import eventually, run

SLOW_POOL = {"rate": 1, "burst": 1, "max_retry": 0}


async def rests(ax, worker, pool):
    """Starts nothing, and says why wherever an operator looks."""
    await ax.dispatch.ready()
    await eventually(lambda: ax.dispatch.metric("ax_pools_unreadable") == 1, 10, "the gauge")
    assert ax.dispatch.metric("ax_pool_paused") == 1
    assert "pool settings cannot be read, it rests until they can" in ax.dispatch.log()
    findings = json.loads(await ax.command("ax", "doctor", "--json", check=False))["findings"]
    found = [f for f in findings if (f["about"], f["code"]) == (f"pool {pool}", "settings_unreadable")]
    assert found and "rat" in found[0]["text"] and f"nats kv put AX_POOLS {pool}" in found[0]["turn"], findings
    assert "its settings cannot be read" in await ax.command("ax", "pool", "ls")
    await asyncio.sleep(1)
    assert not worker.starts, f"{len(worker.starts)} tasks started"


async def test(ax):
    await ax.pool("email", SLOW_POOL)
    for i in range(20):
        await ax.submit("x", f"key-{i}")
    # While it runs the old ones stay.
    await ax.put_pool("email", '{"rat":1}')
    await eventually(lambda: "pool settings refused, the old ones stay" in ax.dispatch.log(), 10)
    assert ax.dispatch.metric("ax_pools_unreadable") == 0
    ax.dispatch.kill()
    worker = await ax.worker("email")
    for text in ('{"rat":1}', "{", "[]"):
        await ax.put_pool("email", text)
        ax.dispatch.start()
        if text == '{"rat":1}':
            await rests(ax, worker, "email")
        await ax.dispatch.ready()
        await asyncio.sleep(0.5)
        assert not worker.starts, f"{text}: {len(worker.starts)} tasks started"
        ax.dispatch.kill()
    # It goes on when they can be read.
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.put_pool("email", SLOW_POOL)
    await eventually(lambda: worker.starts, 15, "a task starts")
    assert len(worker.starts) <= 3, f"{len(worker.starts)} tasks started at once"
    await eventually(lambda: ax.dispatch.metric("ax_pools_unreadable") == 0, 10)

    # A dispatcher that starts hears others' refused attempts to add the pool before it has read the bucket.
    await ax.put_pool("email", {**SLOW_POOL, "paused": True})
    ax.dispatch.kill()
    heard = asyncio.Event()

    async def add():
        while not heard.is_set():
            await ax.nc.publish("$KV.AX_POOLS.email", b"{}", headers={"Nats-Expected-Last-Subject-Sequence": "0"})
            await asyncio.sleep(0.002)
    adding = asyncio.create_task(add())
    started = len(worker.starts)
    ax.dispatch.start()
    await ax.dispatch.ready()
    await asyncio.sleep(1.5)
    heard.set()
    await adding
    assert len(worker.starts) == started, f"{len(worker.starts) - started} tasks of a paused pool started"
    assert "msg=\"pool goes on\"" not in ax.dispatch.log().rsplit("pool paused", 1)[1]


run(test)
