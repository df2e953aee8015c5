# `ax pool rm`: refused while the pool has tasks; then entry and consumers are gone, every daemon has forgotten the pool,
# and its next task makes it anew. With --force its tasks, wherever they are, become dead letters.
import asyncio

from harness import QUEUES, Refused, eventually, run

STREAMS = ("AX_WORK", *QUEUES.values())


async def has_consumer(ax, stream, pool):
    return "error" not in await ax.api(f"CONSUMER.INFO.{stream}.{pool}")


async def exists(ax, pool):
    """Entry and consumers: all there, or nothing."""
    entry = await ax.last("KV_AX_POOLS", f"$KV.AX_POOLS.{pool}")
    found = [entry is not None and "KV-Operation" not in entry[0]]
    found += [await has_consumer(ax, stream, pool) for stream in STREAMS]
    assert len(set(found)) == 1, found
    return found[0]


def forgotten(ax, pool):
    return all(f'pool="{pool}"' not in d.get("/metrics")[1] for d in ax.dispatches)


async def removed(ax, pool, *flags):
    text = await ax.command("ax", "pool", "rm", pool, *flags)
    assert f"pool {pool} removed" in text, text
    await eventually(lambda: forgotten(ax, pool), 5, "no dispatcher has a metric of it")
    assert not await exists(ax, pool)
    return text


async def refused_with_tasks(ax):
    await ax.pool("email", {"rate": 5})
    for i in range(3):
        await ax.submit("x", f"key-{i}")
    text = await ax.command("ax", "pool", "rm", "email", check=False)
    assert "pool email has tasks: 3 queued, 0 running, 0 later, 0 spilled" in text, text
    assert await exists(ax, "email")
    worker = await ax.worker("email")
    await ax.settled(done=3)
    await worker.stop()
    ax.workers.remove(worker)


async def forgotten_by_all(ax):
    await removed(ax, "email")
    assert ax.ingress.metric("ax_ingress_pools") == 0
    lease = await ax.last("KV_AX_LEASES", "$KV.AX_LEASES.email")
    await asyncio.sleep(2)  # nobody makes it again, nobody renews its lease
    later = await ax.last("KV_AX_LEASES", "$KV.AX_LEASES.email")
    assert later is None or (lease and later[2] == lease[2]), later
    assert not await exists(ax, "email") and forgotten(ax, "email")
    assert "pool email is not there" in await ax.command("ax", "pool", "rm", "email", check=False)
    for d in ax.dispatches:
        await d.ready()


async def made_anew(ax):
    await ax.submit("again", "key-new")
    worker = await ax.worker("email")
    await eventually(lambda: [t.body for t in worker.starts] == [b"again"], 15, "the pool is made anew by a task")
    await ax.settled(done=4)
    assert (await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.email"))[1] == b"{}", "without the settings that it had"
    await worker.stop()
    ax.workers.remove(worker)
    # A removal that was cut off after its first step is finished by a second one.
    seq = (await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.email"))[2]
    await ax.js.publish("$KV.AX_POOLS.email", b"", headers={"KV-Operation": "DEL",
                                                           "Nats-Expected-Last-Subject-Sequence": str(seq)})
    await eventually(lambda: forgotten(ax, "email"), 5)
    await removed(ax, "email")


async def with_force(ax):
    """Tasks that are queued, running, delayed, recurring and spilled."""
    await ax.pool("sms")
    await ax.pool("other")
    started = asyncio.Event()

    async def work(task):
        started.set()
        await asyncio.sleep(3600)
    worker = await ax.worker("sms", work, pulls=1)
    ids = {(await ax.submit("runs", "runs", "low", "sms"))["task"]}
    await asyncio.wait_for(started.wait(), 10)
    await ax.edit_stream("AX_LOW", max_msgs=2, metadata={"ax.rank": "3", "ax.on_full": "spill"})
    ids.add((await ax.submit("waits", "waits", "low", "sms"))["task"])
    spilled = await eventually(lambda: spill(ax), 10, "the queue spills")
    ids.add(spilled["task"])
    ids.add((await ax.submit("later", "later", "high", "sms", {"Ax-Delay": "1h"}))["task"])
    ids.add((await ax.submit("cron", "cron", "high", "sms", {"Ax-Cron": "@every 1h"}))["task"])
    await ax.submit("kept", "kept", "high", "other", {"Ax-Delay": "1h"})
    text = await ax.command("ax", "pool", "rm", "sms", check=False)
    assert "1 queued, 1 running, 2 later, 1 spilled" in text, text
    text = await removed(ax, "sms", "--force")
    assert "its tasks are dead letters (ax dead ls sms)" in text, text
    letters = await ax.subjects("AX_DEAD")
    assert set(letters.values()) == {1}, f"one letter for each: {letters}"
    assert {s.rsplit(".", 1)[1] for s in letters} == ids and all(s.startswith("ax.dead.sms.") for s in letters), letters
    for subject in letters:
        headers, body, _ = await ax.last("AX_DEAD", subject)
        assert headers["Ax-Reason"] == "pool removed" and headers["Ax-Task"] in ids, headers
        assert body in (b"runs", b"waits", b"spilled", b"later", b"cron"), body
    assert await ax.unfinished() == 1 and await ax.messages("AX_WORK") == 0, "only the other pool's task is left"
    await worker.stop()
    ax.workers.remove(worker)


async def spill(ax):
    try:
        reply = await ax.submit("spilled", "spilled", "low", "sms")
    except Refused:
        return None
    assert reply["stream"] == "AX_SPILL", reply
    return reply


async def test(ax):
    await refused_with_tasks(ax)
    await forgotten_by_all(ax)
    await made_anew(ax)
    await with_force(ax)


run(test, dispatch=2)
