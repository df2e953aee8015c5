# The server's clock is moved back under it (faketime.py says how): delayed submissions are refused while it lasts,
# immediate ones run, nothing starts before the server's clock has reached its time.
# ctest: timeout=180
import time

from faketime import ServerClock
from harness import SLOW, Refused, eventually, run
from lateness import Starts, rfc3339

BACK = 20


async def refusal(ax, **headers):
    """The answer's error when a delayed submission is refused for the clock, else None."""
    try:
        await ax.submit("x", None, pool="spare", headers=headers or {"Ax-Delay": "1h"})
        return None
    except Refused as refused:
        assert (refused.code, refused.err_code) == (503, 10023), refused.error
        return str(refused)


async def immediate(ax, worker, count, what):
    """count immediate tasks run."""
    before = len(worker.finished)
    for i in range(count):
        answer = await ax.submit("x", f"{what} {i}")
        assert answer["state"] == "queued", answer
    await eventually(lambda: len(worker.finished) >= before + count, 15, f"immediate tasks run ({what})")


async def test(ax):
    clock = ServerClock(ax.server)
    await ax.pool("email")
    starts = Starts(lambda: clock.offset)
    worker = await ax.worker(handler=starts)
    await immediate(ax, worker, 5, "before")
    due = {f"early bird {i}": clock.now() + 3 + i * 0.1 for i in range(20)}
    for key, when in due.items():
        answer = await ax.submit("x", key, headers={"Ax-At": rfc3339(when)})
        assert answer["state"] == "later", answer

    stepped = time.monotonic()
    clock.set(-BACK)
    server = (await ax.stream("AX_LATER"))["ts"]
    assert server < rfc3339(time.time() - BACK + 2), f"the server's clock was not moved: {server}"
    text = await eventually(lambda: refusal(ax), 10, "delayed submissions are refused")
    assert time.monotonic() - stepped < 8 * SLOW, "AX looks at the server's clock every 5 s"
    print(text)
    assert text.startswith("clock: the server's clock was set back by ") and "retry in" in text, text
    assert await refusal(ax, **{"Ax-At": "2099-01-01T00:00:00Z"}), "a time is refused as well"
    await immediate(ax, worker, 20, "while it lasts")
    assert not [k for k in starts.at if k in due], "a delayed task started before its time"

    # Once the server's clock has caught up, without a word from anybody.
    async def taken():
        return await refusal(ax) is None
    await eventually(taken, BACK + 15, "delayed submissions are taken again", every=0.1)
    took = time.monotonic() - stepped
    assert took > BACK - 2, f"taken again after {took:.1f} s, the clock was set back by {BACK} s"
    await eventually(lambda: len([k for k in starts.at if k in due]) == len(due), 15, "the delayed tasks run")
    late = starts.lateness(due)
    print(f"set back by {BACK} s: taken again after {took:.1f} s, delayed late by {late[0]:.3f} to {late[-1]:.3f} s")

    # An hour back, and set right again by whoever noticed.
    due = {f"night owl {i}": clock.now() + 6 + i * 0.1 for i in range(20)}
    for key, when in due.items():
        await ax.submit("x", key, headers={"Ax-At": rfc3339(when)})
    clock.set(-BACK - 3600)
    text = await eventually(lambda: refusal(ax), 10, "delayed submissions are refused again")
    assert "359" in text or "360" in text, text
    await immediate(ax, worker, 20, "an hour back")
    assert not [k for k in starts.at if k in due], "a delayed task started before its time"
    clock.set(-BACK)
    await eventually(taken, 15, "delayed submissions are taken as soon as the clock is right", every=0.1)
    # The server had set its timer by the wrong clock and sleeps for an hour; an update of the stream makes it look.
    await ax.edit_stream("AX_LATER", description="looked at")
    await eventually(lambda: len([k for k in starts.at if k in due]) == len(due), 20, "the delayed tasks run")
    starts.lateness(due)
    answer = await ax.submit("x", "last", headers={"Ax-Delay": "1s"})
    sent = time.time()
    await eventually(lambda: "last" in starts.at, 10, "a delay of one second")
    assert answer["state"] == "later" and starts.at["last"][0] + BACK - sent >= 0.99, starts.at["last"]
    stamps = [int(t.headers["Ax-Submitted"]) for t in worker.starts if not t.key.startswith(("early", "night"))]
    assert stamps == sorted(stamps) and len(set(stamps)) == len(stamps), "Ax-Submitted went back"


run(test, 160)
