# One setting for all replicas: --replicas 3 makes every stream, bucket and consumer of AX with three. ax init reports
# streams with fewer and leaves them alone; the operator raises them while tasks are in them. Where three are impossible
# one line says so.
# ctest: timeout=120
import json

from cluster import run
from harness import Ax, eventually, own

ALONE = "3 replicas need as many servers"


def last_json(text):
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))


async def with_replicas(ax, count):
    """Streams and consumers with that many replicas."""
    return {what for what, group in (await ax.cluster.groups()).items() if len(group.get("replicas") or []) + 1 == count}


async def alone(ax):
    text = await ax.command(own("ax"), "init", "--replicas", "3", check=False)
    assert ALONE in text and len([line for line in text.splitlines() if line.startswith("ax:")]) == 1, text
    assert "created" in await ax.command(own("ax"), "init")


async def test(ax):
    # More than there are servers.
    text = await ax.command(own("ax"), "init", "--replicas", "5", check=False)
    assert "stream AX_DEAD: 5 replicas need as many servers" in text, text

    # Made with one, found by --replicas 3, left as they are.
    assert "fewer" not in await ax.command(own("ax"), "init")
    told = last_json(await ax.command(own("ax"), "init", "--replicas", "3", "--json"))
    assert told["created"] == [] and len(told["fewer_replicas"]) == told["streams"] == 11, told
    assert all(s["replicas"] == 1 for s in told["fewer_replicas"]), told
    text = await ax.command(own("ax"), "init", "--replicas", "3")
    assert "AX_HIGH has replicas: 1, and keeps them; nats stream edit AX_HIGH --replicas 3 -f" in text, text
    assert len(await with_replicas(ax, 1)) == 11 + 6

    # Raised by hand while tasks are there: consumers follow, nothing is lost.
    ax.env["AX_REPLICAS"] = "3"
    for d in ("ax-ingress", "ax-dispatch"):
        daemon = ax.daemon(d)
        (ax.ingresses if d == "ax-ingress" else ax.dispatches).append(daemon)
        await daemon.ready()
    ax.ingress, ax.dispatch = ax.ingresses[0], ax.dispatches[0]
    await eventually(lambda: "stream has fewer replicas than asked for" in ax.ingress.log(), 10)
    await ax.pool("email")
    for i in range(200):
        await ax.submit("x", f"k{i}")
    raised_streams = "AX_HIGH", "KV_AX_DONE"
    for stream in raised_streams:
        if stream.startswith("KV_"):  # the nats CLI asks at the terminal before it edits a bucket's stream
            await ax.edit_stream(stream, num_replicas=3)
        else:
            await ax.cli("stream", "edit", stream, "--replicas", "3", "-f")
    worker = await ax.worker()
    await ax.settled(200)
    assert len(worker.starts) == 200

    # What the daemons make from now on has three, consumers of a new pool and a stream that was deleted.
    await ax.submit("x", "other", pool="sms")
    await eventually(lambda: ax.consumer("AX_WORK", "sms"), 15)
    await ax.cli("stream", "rm", "AX_SPILL", "-f")
    await eventually(lambda: ax.stream("AX_SPILL"), 15)

    async def raised():
        left = [what for what in await with_replicas(ax, 1) if what.split("/")[0] in raised_streams]
        assert not left, left
        return True
    await eventually(raised, 40)
    told = last_json(await ax.command(own("ax"), "init", "--json"))
    assert len(told["fewer_replicas"]) == 11 - len(raised_streams) - 1, told
    groups = await with_replicas(ax, 3)
    assert {"AX_SPILL", "AX_SPILL/feeder-high", "AX_HIGH/sms"} <= groups, groups


async def all_of_it(ax):
    async with Ax(ingress=0, dispatch=0) as single:
        await alone(single)
    await test(ax)


run(all_of_it, replicas=0, ingress=0, dispatch=0)
