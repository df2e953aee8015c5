# A pool appears with its first task, unless ingress runs with --strict-pools.
# ctest: timeout=120
from harness import Refused, eventually, run


async def test(ax):
    ingress_strict = ax.ingresses[0]
    try:
        await ax.submit("x", pool="unknown")
        raise AssertionError("strict ingress accepted a task of a pool that nobody added")
    except Refused as refused:
        assert refused.code == 400 and "unknown" in str(refused), refused
    await ax.pool("known")

    async def taken():
        try:
            return await ax.submit("x", "k", pool="known")
        except Refused:
            return None
    await eventually(taken, 10, "the added pool is known to a strict ingress")

    ingress_strict.argv = [a for a in ingress_strict.argv if a != "--strict-pools"]
    await ingress_strict.restart(hard=False)
    reply = await ax.submit("hello", pool="fresh")
    assert reply["state"] == "queued", reply
    assert (await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.fresh"))[1] == b"{}"
    await eventually(lambda: ax.consumer("AX_WORK", "fresh"), 15, "the new pool's consumer")
    worker = await ax.worker("fresh")
    await eventually(lambda: [t.body for t in worker.starts] == [b"hello"], 10)
    # Without a pool in the subject it is the pool default.
    msg = await ax.nc.request("ax.submit.normal", b"plain", timeout=10)
    assert b'"stream":"AX_NORMAL"' in msg.data, msg.data
    await eventually(lambda: ax.consumer("AX_WORK", "default"), 15)
    other = await ax.worker("default")
    await eventually(lambda: [t.body for t in other.starts] == [b"plain"], 10)


run(test, ingress_args=["--strict-pools"])
