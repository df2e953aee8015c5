# Pools that nobody works for, one and then ten, cannot keep a priority busy: each holds its share of the queue at most, the
# rest stays free, and another pool's tasks, submitted or delayed, start within a second. What they were told was accepted
# is kept, and runs when a worker comes. ax.pool_share 1: a pool may have the whole queue.
# ctest: timeout=150
# ctest: timed
import asyncio
import re
import time

from harness import SLOW, Refused, eventually, run

BOUND = 400
SHARE = 360


async def attempt(ax, pool, number, headers=None):
    """None: accepted; else what was said."""
    try:
        await ax.submit(f"{pool}-{number}", pool=pool, headers=headers, timeout=20)
        return None
    except Refused as refused:
        assert (refused.code, refused.err_code) == (503, 10077), refused.error
        return str(refused)


async def flood(ax, pool, count):
    """How many were accepted, and what the others were told."""
    answers = await asyncio.gather(*(attempt(ax, pool, i) for i in range(count)))
    refusals = [a for a in answers if a]
    return count - len(refusals), refusals


async def start_soon(ax, worker, count, headers=None, after=0.0):
    """Each of so many tasks of email, one after the other, starts within a second (of its time)."""
    longest = 0
    for _ in range(count):
        before, began = len(worker.starts), time.monotonic()
        await ax.submit("x", headers=headers, retry=True)
        await eventually(lambda n=before: len(worker.starts) > n, 10, "email's task starts", every=0.005)
        longest = max(longest, worker.starts[-1].started - began - after)
    assert longest < 1 * SLOW, f"a task of another pool started after {longest:.2f} s"
    return longest


async def test(ax):
    await ax.edit_stream("AX_HIGH", max_msgs=BOUND)
    await ax.pool("email")
    await ax.pool("idle")
    await eventually(lambda: ax.ingress.metric("ax_ingress_queue_limit_tasks") == BOUND + 15000, 15, "the bound is known")
    worker = await ax.worker()

    accepted, refusals = await flood(ax, "idle", 1000)
    print(f"one pool: {accepted} accepted, {refusals[0]}")
    assert accepted == SHARE, accepted
    for text in refusals:
        assert re.fullmatch(rf'queue high: pool "idle" has \d+ of {BOUND} places, the rest is kept for other pools, '
                            r"retry in \d+ms", text), text
    assert ax.ingress.metric("ax_ingress_over_pool_share_total") == len(refusals)
    print(f"email's tasks started within {await start_soon(ax, worker, 15):.3f} s")

    # A known key is told as such, and what has no reply subject is kept.
    await ax.pool("other")
    await ax.submit("x", "known", pool="other")
    await flood(ax, "other", 200)
    assert (await ax.submit("x", "known", pool="other"))["duplicate"] is True

    # Nine more that AX has never heard of.
    for n in range(9):
        accepted, refusals = await flood(ax, f"invented-{n}", 300)
        assert refusals, n
    assert await ax.messages("AX_HIGH") < BOUND, "the queue is full"
    print(f"email's tasks started within {await start_soon(ax, worker, 15):.3f} s, eleven pools at their share")

    # Tasks that fall due for a pool that has its share do not hold up those of another pool.
    delayed = await asyncio.gather(*(attempt(ax, "idle", i, {"Ax-Delay": "1s"}) for i in range(600)))
    assert delayed == [None] * 600, [d for d in delayed if d][:3]

    async def due():
        return sum(1 for s in await ax.subjects("AX_LATER") if s.startswith("ax.due.high.idle.")) >= 600
    await eventually(due, 20, "idle's tasks are due, and have no place")
    print(f"email's delayed tasks came within {await start_soon(ax, worker, 8, {'Ax-Delay': '500ms'}, 0.5):.3f} s")

    # Somebody works for them: everything that was accepted runs, once.
    idle = await ax.worker("idle", pulls=8)
    await eventually(lambda: len(idle.starts) >= SHARE + 600, 40, "all of idle's tasks run")
    assert len({t.id for t in idle.starts}) == len(idle.starts) == SHARE + 600, len(idle.starts)

    # An operator may turn it off.
    metadata = (await ax.stream("AX_LOW"))["config"]["metadata"]
    await ax.edit_stream("AX_LOW", max_msgs=50, metadata={**metadata, "ax.pool_share": "1"})

    async def taken():
        try:
            await ax.submit("x", pool="other", priority="low")
        except Refused as refused:
            assert "is full" in str(refused), refused
        return await ax.messages("AX_LOW") == 50
    await eventually(taken, 30, "one pool has the whole queue")


run(test)
