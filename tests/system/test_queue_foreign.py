# A queue message that no pool would ever serve does not keep its place: of no known form, or of a pool that may not be added
# any more, it becomes a dead letter; a pool that is only unknown is added, and its task runs. Tasks of known pools stay.
# ctest: timeout=120
from harness import Ax, eventually, run

ID = "0123456789abcdef0123456789ab"


async def test(ax):
    await ax.pool("email")
    await ax.bound("AX_LOW", 5)
    waits = (await ax.submit("stays", "stays", "low"))["task"]
    task = {"Ax-Task": f"lost{ID}", "Ax-Key": "lost", "Ax-Attempt": "1", "Ax-Submitted": "1"}
    # As ingress leaves it behind when it dies before the pool has its entry.
    await ax.js.publish(f"ax.queue.low.lost.lost{ID}", b"runs", headers=task)
    for subject in ("ax.queue.low.email", "ax.queue.low.bad!name.x", "ax.queue.low.a.b.c.d"):
        await ax.js.publish(subject, subject.encode())
    full = await ax.messages("AX_LOW")
    assert full == 5, full

    async def letters():
        found = {}
        for subject in await ax.subjects("AX_DEAD"):
            headers, body, _ = await ax.last("AX_DEAD", subject)
            found[body] = headers["Ax-Reason"]
        return len(found) == 3 and found
    found = await eventually(letters, 60, "the others are dead letters")
    assert all("the subject is that of no task" in reason for reason in found.values()), found
    worker = await ax.worker("lost")
    await eventually(lambda: [t.body for t in worker.starts] == [b"runs"], 20, "a pool that was not known is added")
    assert ax.ingress.metric("ax_ingress_foreign_total") == 3
    left = await ax.subjects("AX_LOW")
    assert list(left) == [f"ax.queue.low.email.{waits}"], left

    # As many pools as there may be: email, lost.
    await ax.js.publish(f"ax.queue.low.more.more{ID}", b"no room", headers={**task, "Ax-Task": f"more{ID}", "Ax-Key": "more"})
    await eventually(lambda: ax.last("AX_DEAD", f"ax.dead.more.more{ID}"), 60, "its pool may not be added")
    assert (await ax.last("AX_DEAD", f"ax.dead.more.more{ID}"))[0]["Ax-Reason"].startswith("its pool is not known")
    assert list(await ax.subjects("AX_LOW")) == [f"ax.queue.low.email.{waits}"]
    await ax.command("ax", "dead", "ls", "more")


run(test, seconds=110, make=lambda: Ax(ingress_args=("--max-pools", "2")))
