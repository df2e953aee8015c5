# A key that has failed for good does not start again: not by a submission that ingress had taken before and stored
# after, not by a retry or a submission that was stored twice. ax dead retry brings it back, once.
import asyncio

from harness import eventually, own, run

DROPPED = "ax_duplicates_dropped_total"


async def put(ax, letter, **headers):
    """A message of the letter's task, straight into its queue: as ingress or a feeder stores it late."""
    kept = {k: v for k, v in letter[0].items() if k in ("Ax-Key", "Ax-Max-Retry", "Ax-Backoff", "Ax-Submitted")}
    task = letter[0]["task"]
    await ax.js.publish(f"ax.queue.high.email.{task}", b"x", headers={**kept, **headers})
    return task


async def letter_of(ax, task):
    found = await ax.last("AX_DEAD", f"ax.dead.email.{task}")
    return found and ({**found[0], "task": task}, *found[1:])


async def test(ax):
    await ax.pool("email", {"backoff": "50ms"}, ack_wait=5)
    fails = True

    async def refuse(task):
        return "nak" if fails else "ack"

    worker = await ax.worker(handler=refuse, pulls=2)
    task = (await ax.submit("x", "key", headers={"Ax-Max-Retry": "1"}))["task"]
    await ax.settled(0, 20, dead=1)
    assert len(worker.starts) == 2
    letter = await letter_of(ax, task)

    async def is_dropped(number):
        async def check():
            worker.check()
            return ax.dispatch.metric(DROPPED) == number and await ax.unfinished() == 0
        await eventually(check, 20, f"{number} dropped")
        assert len(worker.starts) == 2 and await ax.messages("AX_DEAD", "AX_WORK") == 1, worker.starts

    other = {"Ax-Submitted": str(int(letter[0]["Ax-Submitted"]) + 1)}
    await put(ax, letter, **other)
    await is_dropped(1)
    await put(ax, letter)  # the very same: it might have been put back by hand, and is looked at again after a while
    await is_dropped(2)
    await put(ax, letter, **{"Ax-Attempt": "2"})
    await is_dropped(3)

    # One that did not lead when it failed knows it, too; what was taken after it had begun to lead need not be looked
    # up.
    await asyncio.to_thread(ax.dispatch.kill)
    await put(ax, letter, **other)
    ax.dispatch.start()
    await ax.dispatch.ready()
    await is_dropped(1)

    # Another submission stands in the queue: the letter must not go, since that one is dropped.
    await asyncio.to_thread(ax.dispatch.kill)
    await put(ax, letter, **other)
    text = await ax.command(own("ax"), "dead", "retry", task, check=False)
    assert "the dead letter stays" in text and await letter_of(ax, task), text
    ax.dispatch.start()
    await ax.dispatch.ready()
    await is_dropped(1)

    # Brought back it runs, all its attempts, though the letter is still there (the command was interrupted).
    fails = False
    await put(ax, letter, **{"Ax-Retried": str(letter[2]), "Ax-Attempt": "2"})
    await eventually(lambda: len(worker.starts) == 3, 20, "the retried one started")
    await ax.settled(1, 20, dead=1)

    # The same command again finds what it has put there, and the letter goes.
    await asyncio.to_thread(ax.dispatch.kill)
    await put(ax, letter, **{"Ax-Retried": str(letter[2])})
    text = await ax.command(own("ax"), "dead", "retry", task)
    assert "queued again" in text and await letter_of(ax, task) is None, text
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.settled(1, 20)

    # A submission that nobody could answer and that was refused (no message id on its letter) kills no key.
    refused = await ax.submit("x", "other")
    await ax.settled(2, 20)
    await ax.js.publish(f"ax.dead.email.{refused['task']}", b"x", headers={"Ax-Reason": "invalid: x", "Ax-Submitted": "1"})
    await ax.command("nats", "kv", "del", "AX_DONE", refused["task"], "--force", env={"NATS_URL": ax.nc.connected_url.geturl()})
    await put(ax, ({"Ax-Key": "other", "Ax-Submitted": "2", "task": refused["task"]},), **{"Ax-Attempt": "2"})
    await eventually(lambda: len(worker.starts) == 5, 20, "a key that was only refused")


run(test, 100)
