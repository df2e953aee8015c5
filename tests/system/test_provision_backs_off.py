# Pools whose consumers cannot be made: dispatch stays ready and serves the others, asks for them again with growing
# pauses, says once which and why, and makes them when there is room.
import asyncio
import json
import os
import time

from harness import ROOT, SLOW, eventually, run

ROOM = 3
NO_ROOM = ["d", "e", "f", "g", "h"]


async def small_stream(ax):
    """AX_NORMAL, as it is made by AX but for the number of consumers."""
    with open(os.path.join(ROOT, "streams", "AX_NORMAL.json")) as f:
        config = {**json.load(f), "max_consumers": ROOM}
    reply = await ax.api("STREAM.CREATE.AX_NORMAL", config)
    assert "error" not in reply, reply


async def doctor(ax):
    findings = json.loads(await ax.command("ax", "doctor", "--json", check=False))["findings"]
    return {f["about"]: f["text"] for f in findings if f["code"] == "unprovisioned"}


async def test(ax):
    await small_stream(ax)
    ax.ingress, ax.dispatch = ax.daemon("ax-ingress"), ax.daemon("ax-dispatch")
    await ax.ingress.ready()
    await ax.dispatch.ready()
    for pool in "abc":
        await ax.pool(pool)
    asked = {}

    async def count(msg):
        asked[msg.subject.split(".")[5]] = asked.get(msg.subject.split(".")[5], 0) + 1
    await ax.nc.subscribe("$JS.API.CONSUMER.CREATE.AX_NORMAL.>", cb=count)
    for pool in NO_ROOM:
        await ax.put_pool(pool, {})
    since = time.monotonic()
    await eventually(lambda: ax.dispatch.metric("ax_pools_unprovisioned") == len(NO_ROOM), 10, "the gauge")

    # The others go on, and dispatch is ready throughout.
    worker, sent = await ax.worker("a"), 0
    while time.monotonic() - since < 8:
        status, text = ax.dispatch.get("/readyz")
        assert status == 200, text
        sent, before = sent + 1, time.monotonic()
        await ax.submit("x", f"key-{sent}", pool="a")
        await eventually(lambda: len(worker.starts) == sent, 10, "a task of another pool starts")
        assert time.monotonic() - before < SLOW, "a task of another pool waited"
        await asyncio.sleep(0.1)
    most = max(asked.get(pool, 0) for pool in NO_ROOM)
    assert 2 <= most <= 5, f"{most} attempts in 8 s, wanted those after 0, 1, 3 and 7 s: {asked}"
    assert ax.dispatch.log().count("pool not provisioned") == 1, "one line a minute"
    assert "consumers limit" in ax.dispatch.log()
    found = await doctor(ax)
    assert set(found) == {f"pool {pool}" for pool in NO_ROOM}, found
    assert all("maximum consumers limit" in text for text in found.values()), found

    # A restart is as ready as before.
    await ax.dispatch.restart()
    await eventually(lambda: ax.dispatch.metric("ax_pools_unprovisioned") == len(NO_ROOM), 10)
    # Room for one: it is made at the next try.
    await ax.js.publish("$KV.AX_POOLS.c", b"", headers={"KV-Operation": "DEL"})
    await eventually(lambda: ax.dispatch.metric("ax_pool_led") == 2 + len(NO_ROOM), 10, "pool c is forgotten")
    reply = await ax.api("CONSUMER.DELETE.AX_NORMAL.c")
    assert reply.get("success"), reply
    await eventually(lambda: ax.dispatch.metric("ax_pools_unprovisioned") == len(NO_ROOM) - 1, 20, "one more is made")


run(test, ingress=0, dispatch=0)
