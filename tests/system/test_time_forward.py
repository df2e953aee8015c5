# The clock is replaced: the server's, and with it AX time, goes forward by hours (faketime.py). What expires in an hour
# has expired, a retry with a backoff of an hour runs, a delay of an hour is over; and not before.
# ctest: timeout=120
import asyncio

from faketime import ServerClock
from harness import SLOW, eventually, run


async def test(ax):
    clock = ServerClock(ax.server)
    await ax.pool("email", {"backoff": "1h", "backoff_cap": "4h"})
    await ax.pool("idle")

    async def handler(task):
        return "nak" if task.key == "fails twice" and task.attempt < 3 else None

    worker = await ax.worker(handler=handler)
    expires = await ax.submit("x", "expires", pool="idle", headers={"Ax-Expires": "1h"})
    lasts = await ax.submit("x", "lasts", pool="idle", headers={"Ax-Expires": "9h"})
    retried = await ax.submit("x", "fails twice")
    delayed = await ax.submit("x", "delayed", headers={"Ax-Delay": "1h"})
    assert [a["state"] for a in (expires, lasts, retried, delayed)] == ["queued", "queued", "queued", "later"]
    await eventually(lambda: waits(ax, 2), 10, "the retry and the delayed task wait")

    async def run_count(count, what):
        """Waits for that many starts. The server's timer was set by the clock of before: an update makes it look."""
        await ax.edit_stream("AX_LATER", description=f"looked at for {what}")
        await eventually(lambda: len(worker.starts) == count, 10, what)

    # 50 minutes: nothing yet (backoff 1h ±10%). 70: both.
    for minutes, starts in ((50, 1), (70, 3)):
        clock.set(minutes * 60)
        await run_count(starts, f"{minutes} minutes later")
        await asyncio.sleep(1.5 * SLOW)  # nothing more may come
        assert len(worker.starts) == starts, [(t.key, t.attempt) for t in worker.starts]
    assert sorted((t.key, t.attempt) for t in worker.starts[1:]) == [("delayed", 1), ("fails twice", 2)]

    # The second backoff is twice the first: not after another 100 minutes, but after 140.
    await eventually(lambda: waits(ax, 1), 10, "the second retry waits")
    for minutes, starts in ((70 + 100, 3), (70 + 140, 4)):
        clock.set(minutes * 60)
        await run_count(starts, f"{minutes} minutes later")
        await asyncio.sleep(1.5 * SLOW)
        assert len(worker.starts) == starts, [(t.key, t.attempt) for t in worker.starts]
    assert worker.starts[-1].attempt == 3

    # Three and a half hours after it came, the first worker of its pool asks for it: too late for one of the two.
    idle = await ax.worker("idle")
    await eventually(lambda: idle.finished, 10, "the task that lasts runs")
    await ax.settled(3, 15, dead=1)
    assert [t.key for t in idle.starts] == ["lasts"], [t.key for t in idle.starts]
    headers, _, _ = await ax.last("AX_DEAD", f"ax.dead.idle.{expires['task']}")
    assert headers["Ax-Reason"] == "expired", headers


async def waits(ax, count):
    return await ax.messages("AX_LATER") == count


run(test)
