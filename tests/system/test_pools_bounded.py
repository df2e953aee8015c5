# Submissions to invented pools: as many pools as --max-pools allows and no more, not all at once, none for a submission
# that is refused; tasks of other pools start within a second throughout, dispatch stays ready, and is idle afterwards.
import asyncio
import json
import os
import time

from harness import QUEUES, SLOW, Refused, eventually, run

LIMIT, INVENTED, BURST = 70, 500, 50


def cpu_seconds(process):
    with open(f"/proc/{process.p.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def pools(ax):
    return await ax.subjects("KV_AX_POOLS")


async def refused(ax, pool, **options):
    try:
        reply = await ax.submit("x", pool=pool, **options)
    except Refused as error:
        return error
    raise AssertionError(f"accepted: {reply}")


async def leaves_no_pool(ax):
    """What is refused or told to wait for another reason makes no pool."""
    assert (await refused(ax, "invalid", headers={"Ax-Bogus": "1"})).code == 400
    assert (await refused(ax, "expired", headers={"Ax-Expires": "2020-01-01T00:00:00Z"})).code == 400
    await ax.edit_stream("AX_LOW", max_msgs=1)
    await ax.submit("fills the queue", pool="email", priority="low")
    busy = await refused(ax, "busy", priority="low")
    assert busy.code == 503 and "queue low is full" in str(busy), busy
    assert list(await pools(ax)) == ["$KV.AX_POOLS.email"], await pools(ax)
    assert ax.ingress.metric("ax_ingress_pools") == 1, ax.ingress.metric("ax_ingress_pools")


async def flood(ax):
    """One submission for each invented pool at a time, repeated while it is told to wait: how many end in which code."""
    inbox = ax.nc.new_inbox()
    sub = await ax.nc.subscribe(inbox, pending_msgs_limit=-1)
    ends, waiting, waits = {}, {f"invented-{i}" for i in range(INVENTED)}, 0
    while waiting:
        for pool in waiting:
            await ax.nc.publish(f"ax.submit.normal.{pool}", b"x", reply=inbox)
        codes = []
        for _ in waiting:
            answer = json.loads((await sub.next_msg(timeout=10 * SLOW)).data)
            error = answer.get("error")
            codes.append(error["code"] if error else 200)
            if error and error["code"] == 400:
                assert "as many as --max-pools (%d) allows" % LIMIT in error["description"], error
            elif error:
                assert "is new, and too many others are new" in error["description"], error
        if not waits:
            assert codes.count(200) <= BURST + 20, f"{codes.count(200)} new pools at once"
        for code in codes:
            ends[code] = ends.get(code, 0) + (code != 503)
        waits += codes.count(503)
        known = {s.rsplit(".", 1)[1] for s in await pools(ax)}
        waiting = waiting - known if 503 in codes else set()
        await asyncio.sleep(0.2)
    assert waits > 0, "no submission was told to wait"
    return ends


async def others(ax, worker, stop):
    """How long tasks of another pool wait for their start, at worst."""
    worst, n = 0, 0
    while not stop.is_set():
        n += 1
        sent = time.monotonic()
        await ax.submit("x", f"other-{n}", pool="email")
        await eventually(lambda: len(worker.starts) >= n, 10, "a task of pool email starts", every=0.005)
        worst = max(worst, time.monotonic() - sent)
        await asyncio.sleep(0.02)
    assert n > 20, n
    return worst


async def test(ax):
    await ax.pool("email")
    await leaves_no_pool(ax)
    worker = await ax.worker("email")
    await ax.edit_stream("AX_LOW", max_msgs=1000)
    await eventually(lambda: worker.starts, 10)
    worker.starts.clear()
    stop = asyncio.Event()
    watching = asyncio.create_task(others(ax, worker, stop))
    ends = await flood(ax)
    assert ends[400] >= INVENTED - LIMIT, ends
    assert len(await pools(ax)) == LIMIT, len(await pools(ax))
    assert ax.ingress.metric("ax_ingress_pools") == ax.ingress.metric("ax_ingress_pools_limit") == LIMIT
    for stream in ("AX_WORK", *QUEUES.values()):
        async def made(s=stream):
            return (await ax.stream(s))["state"]["consumer_count"] == LIMIT
        await eventually(made, 20, f"the consumers of {LIMIT} pools on {stream}")
    await ax.dispatch.ready()
    stop.set()
    worst = await watching
    assert worst < SLOW, f"a task of another pool started after {worst:.2f} s"
    before, since = cpu_seconds(ax.dispatch), time.monotonic()
    await asyncio.sleep(3)
    used = (cpu_seconds(ax.dispatch) - before) / (time.monotonic() - since)
    assert used < 0.15 * SLOW, f"dispatch uses {100 * used:.0f}% of a core with {LIMIT} idle pools"


run(test, ingress_args=["--max-pools", str(LIMIT)])
