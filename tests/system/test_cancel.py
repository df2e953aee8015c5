# ax cancel: waiting tasks are removed, a running one is revoked and has no next attempt, the key is free again; what
# has ended stays as it is.
# ctest: timeout=120
# ctest: sanitize
import asyncio
import json

from harness import eventually, own, run


async def cancel(ax, key):
    text = await ax.command(own("ax"), "cancel", key, "--pool", "email", "--json", check=False)
    return json.loads(text.splitlines()[-1])


async def state(ax, key):
    text = await ax.command(own("ax"), "status", key, "--pool", "email", "--json", check=False)
    return json.loads(text.splitlines()[-1])["state"]


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"})

    # Waiting: in its queue (nobody works), and later.
    await ax.submit("x", "queued")
    answer = await cancel(ax, "queued")
    assert answer["state"] == "cancelled" and answer["was"] == "queued", answer
    assert await ax.unfinished() == 0
    assert await state(ax, "queued") == "cancelled"
    await ax.submit("x", "later", headers={"Ax-Delay": "1h"})
    answer = await cancel(ax, "later")
    assert answer["state"] == "cancelled" and answer["was"] == "later", answer

    # Running: revoked, never again, and the worker's late ack does not take the key.
    revoked, release, runs = [], asyncio.Event(), []

    async def handler(task):
        runs.append(task.key)
        if task.key == "running" and runs.count("running") == 1:
            await release.wait()
        return ("term", "no") if task.key == "dead" else "ack"

    async def on_revoke(msg):
        revoked.append((msg.subject, int(msg.data)))
    await ax.nc.subscribe("ax.revoke.>", cb=on_revoke)
    worker = await ax.worker(handler=handler)
    task = (await ax.submit("x", "running"))["task"]
    await eventually(lambda: runs == ["running"], 10, "it runs")
    answer = await cancel(ax, "running")
    assert answer["state"] == "cancelled" and answer["was"] == "running", answer
    await eventually(lambda: revoked, 5, "the worker is told")
    assert revoked[0][0] == f"ax.revoke.email.{task}" and revoked[0][1] > worker.starts[0].fence, revoked
    release.set()
    await eventually(lambda: len(worker.finished) == 1, 10, "the revoked attempt ends")

    # Free again, all three; each runs once more and is done.
    for key in ("queued", "later", "running"):
        assert not (await ax.submit("x", key))["duplicate"], key
    await eventually(lambda: sorted(runs) == ["later", "queued", "running", "running"], 20, runs)
    for key in ("queued", "later", "running"):
        await eventually(lambda k=key: is_done(ax, k), 20, f"{key} is done")
        assert (await cancel(ax, key))["state"] == "done"
        assert (await ax.submit("x", key))["duplicate"]

    # Dead stays dead; what nobody knows is said to be unknown.
    await ax.submit("x", "dead")
    await eventually(lambda: is_dead(ax, 1), 20, "a dead letter")
    assert (await cancel(ax, "dead"))["state"] == "dead"
    text = await ax.command(own("ax"), "cancel", "never heard of", "--pool", "email", check=False)
    assert "unknown" in text, text
    assert await ax.unfinished() == 0


async def is_done(ax, key):
    return await state(ax, key) == "done"


async def is_dead(ax, count):
    return await ax.messages("AX_DEAD") == count


run(test)
