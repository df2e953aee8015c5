# A worker that asked is gone before its task comes (kill -9): the hand-off lies in AX_WORK, and nobody fetches it. It is
# taken back when it expires, when its pool is paused, and when a worker would have lost it by then, or would have used
# up its time. That is no attempt of the task's: it is not lost, not counted as a failure, and takes its place among the
# others anew.
# ctest: sanitize=address
import asyncio
import json
import time

from harness import SLOW, eventually, run

WAIT_S = 2 * SLOW


async def ask(ax, pool, **fields):
    """A pull request whose sender is gone: the server drops it, dispatch has heard it."""
    nobody = ax.nc.new_inbox()
    await ax.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.AX_WORK.{pool}",
                        json.dumps({"batch": 1, "expires": 60_000_000_000, **fields}).encode(), reply=nobody)


async def hand_off(ax, pool, key, **options):
    """Submits a task that is handed off to nobody; its id."""
    await ask(ax, pool)
    task = (await ax.submit("x", key, "low", pool, **options))["task"]
    await eventually(lambda: in_work(ax, task, pool), 10, f"{key} is handed off")
    return task


async def in_work(ax, task, pool):
    return await ax.last("AX_WORK", f"ax.work.{pool}.{task}") is not None


async def is_back(ax, task, pool):
    return not await in_work(ax, task, pool) and await ax.last("AX_LOW", f"ax.queue.low.{pool}.{task}") is not None


async def test(ax):
    await asyncio.gather(ax.pool("expires"), ax.pool("paused", {"max_retry": 0}), ax.pool("limited", {"max_retry": 0}),
                         ax.pool("lies", {"max_retry": 0}))
    await ax.edit_consumer("AX_WORK", "lies", ack_wait=int(WAIT_S * 1e9))

    # For a worker that polls, seldom, it lies there until it comes again.
    polled = (await ax.submit("x", "polled", "low", "lies"))["task"]
    await ask(ax, "lies", no_wait=True, expires=0)
    await eventually(lambda: in_work(ax, polled, "lies"), 10, "handed off")
    since = time.monotonic()

    expired = await hand_off(ax, "expires", "expired", headers={"Ax-Expires": "1s"})
    paused = await hand_off(ax, "paused", "paused")
    limited = await hand_off(ax, "limited", "limited", headers={"Ax-Timeout": "1s"})
    await ax.put_pool("paused", {"max_retry": 0, "paused": True})

    # It has expired: a dead letter, and no worker gets it.
    letter = await eventually(lambda: ax.last("AX_DEAD", f"ax.dead.expires.{expired}"), 10, "a dead letter")
    assert letter[0]["Ax-Reason"] == "expired", letter
    await eventually(lambda: gone(ax, expired, "expires"), 10, "and the hand-off is gone")

    # It may run for a second, and nobody has begun.
    await eventually(lambda: is_back(ax, limited, "limited"), 10, "back in its queue")
    worker = await ax.worker("limited")
    await eventually(lambda: worker.finished, 10, "it runs")
    assert len(worker.starts) == 1 and worker.starts[0].headers["Ax-Given-Back"] == "1", worker.starts

    # Its pool is paused: it waits in its queue, and runs when the pool goes on.
    await eventually(lambda: is_back(ax, paused, "paused"), 10, "back in its queue")
    worker = await ax.worker("paused")
    await ax.put_pool("paused", {"max_retry": 0})
    await eventually(lambda: worker.finished, 10, "it runs")
    headers = worker.starts[0].headers
    assert len(worker.starts) == 1 and headers["Ax-Given-Back"] == "1" and headers["Ax-Attempt"] == "2", headers

    await asyncio.sleep(max(0.0, since + WAIT_S + 2.5 - time.monotonic()))  # longer than until others are taken back
    assert await in_work(ax, polled, "lies")
    [msg] = await (await ax.js.pull_subscribe_bind("lies", "AX_WORK")).fetch(1, timeout=5)
    assert "Ax-Given-Back" not in msg.headers, msg.headers
    await msg.ack()

    # Nobody fetched it for as long as a worker has for a task: what is more urgent now goes first. As often as it likes.
    lies = await hand_off(ax, "lies", "lies")
    await eventually(lambda: is_back(ax, lies, "lies"), 10 + WAIT_S, "back in its queue")
    await ask(ax, "lies")
    await eventually(lambda: in_work(ax, lies, "lies"), 10, "handed off once more")
    await eventually(lambda: is_back(ax, lies, "lies"), 10 + WAIT_S, "and back in its queue")
    await ax.submit("x", "urgent", "high", "lies")
    worker = await ax.worker("lies", pulls=1)
    await eventually(lambda: len(worker.finished) == 2, 10, "both run")
    assert [t.key for t in worker.starts] == ["urgent", "lies"], [t.key for t in worker.starts]
    assert worker.starts[1].headers["Ax-Given-Back"] == "2", worker.starts[1].headers
    assert ax.dispatch.metric('ax_taken_back_total{pool="lies"}') == 2

    await ax.settled(5, dead=1)
    assert ax.dispatch.metric('ax_dead_total{pool="expires",reason="expired"}') == 1


async def gone(ax, task, pool):
    return not await in_work(ax, task, pool) and await ax.last("AX_LOW", f"ax.queue.low.{pool}.{task}") is None


run(test)
