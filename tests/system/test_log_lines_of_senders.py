# What a sender can have logged is logged once a minute of each kind: cancels of what is not there, dead letters.
# ctest: timeout=60
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email")
    worker = await ax.worker(handler=lambda task: term(task), pulls=16)
    answers = await asyncio.gather(*(ax.nc.request(f"ax.cancel.email.{i:032x}", b"", timeout=20) for i in range(300)))
    assert all(b'"unknown"' in a.data for a in answers), answers[0].data
    await asyncio.gather(*(ax.submit("x", f"k{i}") for i in range(200)))

    async def all_dead():
        return await ax.messages("AX_DEAD") == 200
    await eventually(all_dead, 20, "200 dead letters")
    log = ax.dispatch.log()
    assert log.count("msg=cancel") == 1, log.count("msg=cancel")
    assert log.count('msg="dead letter"') == 1, log.count('msg="dead letter"')
    assert worker


async def term(task):
    return "term", "no good"


run(test)
