# The number of recurring tasks is bounded (ax.max_schedules), and no pool may have all of it while others contend. A
# schedule that exists can always be replaced, and one that was removed makes room.
# ctest: timeout=90
import asyncio
import re

from harness import Refused, eventually, own, run

MAX = 40


async def recurring(ax, pool, key, cron="@hourly"):
    """None: stored; else what was said."""
    try:
        await ax.submit("x", key, pool=pool, headers={"Ax-Cron": cron}, timeout=20)
    except Refused as refused:
        assert (refused.code, refused.err_code) == (503, 10077), refused.error
        return str(refused)


async def test(ax):
    await ax.pool("email")
    await ax.pool("hoard")
    metadata = (await ax.stream("AX_LATER"))["config"]["metadata"]
    assert metadata["ax.max_schedules"] == "10000", metadata
    await ax.edit_stream("AX_LATER", metadata={**metadata, "ax.max_schedules": str(MAX)})
    await eventually(lambda: ax.ingress.metric("ax_ingress_schedules_limit") == MAX, 15, "the bound is known")

    answers = await asyncio.gather(*(recurring(ax, "hoard", f"h-{i}") for i in range(60)))
    refusals = [a for a in answers if a]
    print(f"{60 - len(refusals)} stored, {refusals[0]}")
    assert len(answers) - len(refusals) == 36, len(refusals)
    for text in refusals:
        assert re.fullmatch(rf'AX_LATER: pool "hoard" has \d+ of {MAX} schedules, the rest is kept for other pools, '
                            r"retry in \d+ms", text), text
    assert await recurring(ax, "hoard", "h-0", "@daily") is None, "one that exists can be replaced"
    assert await recurring(ax, "email", "mine") is None, "there is room for another pool"
    assert await ax.messages("AX_LATER") == 37
    await eventually(lambda: ax.ingress.metric("ax_ingress_schedules") == 37, 5, "counted")
    for n in range(3):
        assert await recurring(ax, f"other-{n}", "one") is None
    full = await recurring(ax, "last", "one")
    assert re.fullmatch(rf"AX_LATER has {MAX} schedules, ax.max_schedules \({MAX}\) allows no more; remove some with: "
                        r"ax cron rm; retry in \d+ms", full), full

    # Those that are there are counted by an ingress that starts, and one that was removed makes room.
    await ax.ingress.restart(hard=True)
    await eventually(lambda: ax.ingress.metric("ax_ingress_schedules") == MAX, 10, "counted at start")
    await ax.command(own("ax"), "cron", "rm", "one", "--pool", "other-0")

    async def room():
        return await recurring(ax, "last", "one") is None
    await eventually(room, 10, "there is room again")


run(test)
