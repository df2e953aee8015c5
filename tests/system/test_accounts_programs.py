# `ax work` and `ax submit` in a team's account: they do their work with the rights of a worker and of a producer, and say
# so where a thing is not for them. `ax doctor` works in AX's account.
# ctest: timeout=120
import asyncio
import os

from accounts import run
from harness import eventually, own


def lines(ax, name):
    path = os.path.join(ax.directory, name)
    return open(path).read().splitlines() if os.path.exists(path) else []


async def test(ax):
    producer, worker = ax.seat("mail-producer"), ax.seat("mail-email")

    # A worker that comes before its pool waits for it: it may not add one.
    early = worker.spawn("early", [own("ax"), "work", "email", "--exec", 'echo "$AX_KEY" >>seen; [ "$AX_KEY" != bad ] || exit 65',
                                   "--concurrency", "4"])
    await eventually(lambda: "this user may not add it" in early.log() and "msg=working" in early.log(), 30)
    forbidden = len(ax.violations())
    out = await producer.command(own("ax"), "submit", "--pool", "email", "--key", "first", "hello")
    assert "queued" in out, out
    await eventually(lambda: lines(ax, "seen") == ["first"], 20)

    # Single tasks, many, a dead letter, a task that outlives its lease, a superseded attempt.
    text = "".join(f"key-{i}\tbody {i}\n" for i in range(200)).encode()
    out = await producer.command(own("ax"), "submit", "--pool", "email", "--lines", "--json", stdin=text)
    assert '"accepted":200' in out, out
    await producer.command(own("ax"), "submit", "--pool", "email", "--key", "bad", "x")
    await ax.settled(201, 40, dead=1)
    assert len(lines(ax, "seen")) == 202

    await ax.pool("email", {"backoff": "100ms"}, ack_wait=1)
    assert early.stop() == 0
    slow = worker.spawn("slow", [own("ax"), "work", "email", "--exec", 'echo "$AX_KEY $AX_ATTEMPT" >>slow; exec sleep 3'])
    await eventually(lambda: "msg=working" in slow.log(), 10)
    await ax.submit("x", "long", "high")
    await ax.settled(202, 30, dead=1)
    assert lines(ax, "slow") == ["long 1"], "the lease was not renewed"
    await ax.submit("x", "superseded", "high")
    await eventually(lambda: len(lines(ax, "slow")) == 2, 10)
    slow.pause()
    await eventually(lambda: ax.dispatch.metric("ax_timeouts_total"), 30, "its attempt times out")
    slow.resume()
    await eventually(lambda: "attempt superseded" in slow.log(), 20, "ax.revoke came through")
    assert slow.stop() == 0
    assert len(ax.violations()) == forbidden, ax.violations()

    # What is not for a team's user is said in one line.
    async def refused(seat, words, *argv):
        text = await seat.command(own("ax"), *argv, check=False, seconds=40)
        assert words in text, (argv, text)
    await asyncio.gather(
        refused(producer, "this user may not look for it", "submit", "--pool", "email", "--key", "w", "--wait", "x"),
        refused(producer, "may this user work for the pool", "work", "email", "--exec", "true"),
        refused(worker, "may this user work for the pool", "work", "newsletter", "--exec", "true"),
        refused(worker, "may this user work for the pool", "work", "invoice", "--exec", "true"),
        refused(producer, "not known whether the task was accepted", "submit", "--pool", "invoice", "x"))
    assert await ax.messages("AX_LOW", "AX_LATER") == 0 and "invoice" not in str(await ax.subjects("AX_NORMAL"))

    report = await ax.command(own("ax"), "doctor", "--json", check=False)
    assert '"findings"' in report or report.startswith("["), report


run(test)
