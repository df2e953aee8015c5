# A recurring task is submitted under the key of a task that is at work and fails: its retry has no place in AX_LATER,
# and must not be lost; it is a dead letter that says so. The recurring task goes on.
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "200ms", "max_retry": 3})
    release = asyncio.Event()

    async def handler(task):
        if task.key == "report":
            await release.wait()
            return "nak"

    worker = await ax.worker(handler=handler, pulls=4)
    first = await ax.submit("one", "report")
    await eventually(lambda: worker.starts, 10, "at work")
    cron = await ax.submit("again", "report", headers={"Ax-Cron": "@every 1s", "Ax-Overlap": "queue"})
    assert cron["task"] == first["task"] and cron["state"] == "later", cron
    release.set()
    dead = await eventually(lambda: ax.last("AX_DEAD", f"ax.dead.email.{first['task']}"), 10, "its dead letter")
    assert "recurring task" in dead[0]["Ax-Reason"] and dead[1] == b"one", dead
    seen = len(worker.starts)
    await eventually(lambda: len(worker.starts) >= seen + 2, 10, "the recurring task goes on")
    assert await ax.messages("AX_HIGH", "AX_WORK") <= 1


run(test, 60)
