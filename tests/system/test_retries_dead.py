# A task that always fails runs exactly 1 + max-retry times with growing gaps, then lies in AX_DEAD with its reason and
# attempts; `ax dead retry` brings it back. Waiting retries do not hold up fresh tasks.
# ctest: timeout=120
import asyncio

from harness import SLOW, eventually, own, run


async def test(ax):
    await ax.pool("email", {"max_retry": 3, "backoff": "400ms"})
    await ax.pool("slow-retry", {"backoff": "1h"})
    healed = False

    async def handler(task):
        if not task.key.startswith("fresh") and not healed:
            return "nak"

    worker = await ax.worker(handler=handler)
    answer = await ax.submit("poor thing", "always")
    own_limits = await ax.submit("x", "own limits", headers={"Ax-Max-Retry": "1", "Ax-Backoff": "50ms"})
    await ax.submit("x", "no retry", headers={"Ax-Max-Retry": "0"})
    await ax.settled(0, 25, dead=3)
    runs = [t for t in worker.starts if t.key == "always"]
    assert [t.attempt for t in runs] == [1, 2, 3, 4], [t.attempt for t in runs]
    gaps = [b.started - a.ended for a, b in zip(runs, runs[1:])]
    for gap, wanted in zip(gaps, (0.4, 0.8, 1.6)):
        assert wanted * 0.89 <= gap <= wanted * 1.1 + 0.6 * SLOW, f"gaps {gaps}: wanted {wanted} ±10%"
    assert gaps[0] < gaps[2] and gaps[1] < gaps[2], gaps
    assert len([t for t in worker.starts if t.key == "own limits"]) == 2
    assert len([t for t in worker.starts if t.key == "no retry"]) == 1
    headers, body, _ = await ax.last("AX_DEAD", f"ax.dead.email.{answer['task']}")
    assert body == b"poor thing" and headers["Ax-Attempt"] == "4" and headers["Ax-Reason"], headers
    reply = await ax.submit("poor thing", "always")
    assert reply["duplicate"] is True and reply["state"] == "dead", reply

    # Back from the dead, it starts again at attempt 1.
    listed = await ax.command(own("ax"), "dead", "ls", "--json")
    assert answer["task"] in listed and own_limits["task"] in listed, listed
    healed = True
    before = len(worker.starts)
    await ax.command(own("ax"), "dead", "retry", answer["task"])
    await ax.settled(1, 15, dead=2)
    assert [(t.key, t.attempt, t.body) for t in worker.starts[before:]] == [("always", 1, b"poor thing")]
    state = await ax.submit("poor thing", "always")
    assert state["duplicate"] is True and state["state"] == "done", state
    await ax.command(own("ax"), "dead", "drop", own_limits["task"])
    await ax.settled(1, 5, dead=1)
    assert (await ax.submit("x", "own limits"))["duplicate"] is False, "dropped for good: the key is free again"
    await ax.settled(2, 10, dead=1)

    # 300 retries wait for an hour; fresh tasks pass them by, and the queue has its full room.
    healed = False
    blocked = await ax.worker("slow-retry", handler, pulls=16)
    await asyncio.gather(*(ax.submit("x", f"bad-{i}", pool="slow-retry", retry=True) for i in range(300)))
    await eventually(lambda: stored(ax, 300), 20, "300 retries wait in AX_LATER")
    assert await ax.messages("AX_HIGH") == 0
    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(ax.submit("x", f"fresh-{i}", pool="slow-retry") for i in range(100)))
    await eventually(lambda: sum(t.key.startswith("fresh") for t in blocked.finished) == 100, 10, "fresh tasks done")
    took = asyncio.get_running_loop().time() - started
    assert took < 2 * SLOW, f"100 fresh tasks took {took:.1f} s beside waiting retries"


async def stored(ax, count):
    return await ax.messages("AX_LATER") == count


run(test)
