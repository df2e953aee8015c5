# AX_LATER is bounded in tasks and in bytes, and no pool may have all of either while others contend: one that puts off
# tasks by a year leaves room for others, and is told so. ax.pool_share 1: a pool may have all of it.
# ctest: timeout=120
import asyncio
import re

from harness import SLOW, Refused, eventually, run

MAX = 1000


async def put_off(ax, pool, count, body="x", delay="365d"):
    """How many were accepted, and what the others were told."""
    async def one(i):
        try:
            await ax.submit(body, pool=pool, headers={"Ax-Delay": delay}, timeout=20)
        except Refused as refused:
            assert (refused.code, refused.err_code) == (503, 10077), refused.error
            return str(refused)
    answers = await asyncio.gather(*(one(i) for i in range(count)))
    refusals = [a for a in answers if a]
    return count - len(refusals), refusals


async def bound(ax, **metadata):
    config = (await ax.stream("AX_LATER"))["config"]
    await ax.edit_stream("AX_LATER", metadata={**config["metadata"], **{f"ax.{k}": str(v) for k, v in metadata.items()}})
    limit = metadata.get("max_later_bytes")
    await eventually(lambda: ax.ingress.metric("ax_ingress_later_limit_tasks") == metadata.get("max_later", MAX) and
                     (not limit or ax.ingress.metric("ax_ingress_later_limit_bytes") == limit), 15, "the bound is known")


async def test(ax):
    metadata = (await ax.stream("AX_LATER"))["config"]["metadata"]
    assert metadata["ax.max_later_bytes"] == str(8 << 30) and metadata["ax.pool_share"] == "0.9", metadata
    await ax.pool("email")
    await ax.pool("hoard")
    await bound(ax, max_later=MAX)

    accepted, refusals = await put_off(ax, "hoard", 1500)
    print(f"{accepted} accepted, {refusals[0]}")
    assert accepted == 900 == await ax.messages("AX_LATER"), accepted
    for text in refusals:
        assert re.fullmatch(rf'AX_LATER: pool "hoard" has \d+ of {MAX} places, the rest is kept for other pools, '
                            r"retry in \d+ms", text), text
    for n in range(5):
        accepted, _ = await put_off(ax, f"invented-{n}", 50)
        assert accepted == 1, (n, accepted)
    worker = await ax.worker()
    for n in range(10):
        answer = await ax.submit("x", f"soon-{n}", headers={"Ax-Delay": "300ms"}, retry=True)
        assert answer["state"] == "later", answer
        await eventually(lambda n=n: len(worker.starts) > n, 3, "email's delayed task runs")
    assert ax.ingress.metric("ax_ingress_refused_total") >= len(refusals)

    # In bytes: the same, for bodies that are large.
    await ax.api("STREAM.PURGE.AX_LATER", {"filter": "ax.later.>"})
    await bound(ax, max_later_bytes=4 << 20)
    await eventually(lambda: ax.ingress.metric("ax_ingress_later_tasks") == 0, 15, "the purge is known")
    body = "x" * (100 << 10)
    accepted, refusals = await put_off(ax, "hoard", 60, body)
    print(f"{accepted} large ones accepted, {refusals[0]}")
    assert 30 <= accepted <= 38 and (await ax.stream("AX_LATER"))["state"]["bytes"] < 0.95 * (4 << 20), accepted
    assert not (await put_off(ax, "email", 1, body, "300ms"))[1]
    await eventually(lambda: len(worker.starts) == 11, 5, "email's large one runs")

    # Turned off: all of it, and not more.
    await bound(ax, pool_share=1, max_later_bytes=2 << 20)
    _, refusals = await put_off(ax, "email", 3, body)
    assert all(re.fullmatch(rf"AX_LATER is full \({2 << 20} bytes, ax.max_later_bytes\), retry in \d+ms", r)
               for r in refusals) and len(refusals) == 3, refusals
    await ax.api("STREAM.PURGE.AX_LATER", {"filter": "ax.later.>"})
    await eventually(lambda: ax.ingress.metric("ax_ingress_later_tasks") == 0, 15 * SLOW, "the purge is known")
    accepted, refusals = await put_off(ax, "hoard", 1100)
    assert accepted >= MAX and all(r.startswith("AX_LATER is full") for r in refusals), accepted


run(test)
