# What stands in AX_LATER and would never reach a queue is swept, at start and when it is heard: it becomes a dead letter
# under an id of its own, and its key is free. Two ingress instances make one dead letter of it. What is right stays.
# ctest: timeout=90
import asyncio

from harness import Ax, eventually, own, run


async def dead(ax):
    """{body: (reason, id)} of all dead letters."""
    found = {}
    for subject in await ax.subjects("AX_DEAD"):
        headers, body, _ = await ax.last("AX_DEAD", subject)
        assert body not in found, f"two dead letters of {body}"
        found[body] = headers["Ax-Reason"], subject.rsplit(".", 1)[1]
    return found


async def swept(ax):
    return sum(d.metric("ax_ingress_later_swept_total") or 0 for d in ax.ingresses)


async def test(ax):
    await ax.pool("email")
    answer = await ax.submit("right", "right", headers={"Ax-Delay": "1h"})
    cron = await ax.submit("recurring", "recurring", headers={"Ax-Cron": "@hourly"})
    await eventually(lambda: ax.ingresses[1].metric("ax_ingress_schedules") == 1, 10, "the schedule is counted")

    # A key that somebody blocks by hand: no schedule, so it would wait for ever. And a plain message over a delayed task,
    # which makes the server forget the task's time.
    mine = (await ax.submit("x", "mine", headers={"Ax-Delay": "1h"}))["task"]
    await ax.command(own("ax"), "cancel", "mine", "--pool", "email")
    await ax.js.publish(f"ax.later.high.email.{mine}", b"forged", headers={"Ax-Key": "mine"})
    covered = (await ax.submit("x", "covered", headers={"Ax-Delay": "3s"}))["task"]
    await ax.js.publish(f"ax.later.high.email.{covered}", b"cover", headers={"Ax-Key": "covered"})
    worker = await ax.worker()
    for subject, body in ((f"ax.later.low.email.{'A' * 22}", b"no schedule"), ("ax.later.odd", b"short"),
                                         ('ax.later.high."quoted".x', b"quoted"), ("ax.due.high.email", b"no id")):
        await ax.js.publish(subject, body)
    await ax.js.publish(f"ax.later.high.email.{'B' * 22}", b"leads elsewhere",
                        headers={"Nats-Schedule": "@at 2100-01-01T00:00:00Z",
                                 "Nats-Schedule-Target": f"ax.due.high.email.{'C' * 22}"})

    async def all_dead():
        return len(await dead(ax)) == 7 and await dead(ax)
    found = await eventually(all_dead, 20, "seven dead letters")
    assert found[b"forged"][0] == "swept: it has no schedule, so its time never comes", found
    assert found[b"no schedule"][0] == found[b"forged"][0] == found[b"cover"][0], found
    for body in (b"short", b"quoted", b"no id"):
        assert found[body][0] == "swept: its subject names no task", found
    assert found[b"leads elsewhere"][0].startswith("swept: its schedule does not lead"), found
    assert mine not in [i for _, i in found.values()], "the dead letter blocks the key"

    async def clean():
        left = sorted(await ax.subjects("AX_LATER"))
        return left == sorted([f"ax.later.high.email.{answer['task']}", f"ax.later.high.email.{cron['task']}"])
    await eventually(lambda: [t.id for t in worker.starts] == [covered], 15, "the covered task comes at its time")
    await eventually(clean, 10, "what is right stays, the rest is gone")
    assert (await ax.submit("x", "mine"))["duplicate"] is False, "the key is still blocked"
    assert (await ax.submit("right", "right"))["duplicate"] is True
    assert await swept(ax) >= 7

    # Stored while no ingress runs: swept at its start.
    for d in ax.ingresses:
        d.kill()
    await ax.js.publish(f"ax.later.high.email.{'D' * 22}", b"while away")
    await asyncio.gather(*(d.restart(hard=False) for d in ax.ingresses))

    async def away():
        return b"while away" in await dead(ax) and not [s for s in await ax.subjects("AX_LATER") if "DDD" in s]
    await eventually(away, 20, "swept at start")
    assert len(await dead(ax)) == 8


run(test, make=lambda: Ax(ingress=2))
