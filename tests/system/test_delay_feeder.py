# Due tasks and a full queue: those of that priority wait without being lost, those of the other priorities pass, and
# all enter their queue in order of due time, whatever order they were submitted in.
# ctest: timeout=180
import time

from harness import SLOW, eventually, run
from lateness import Starts, rfc3339

ROOM = 20
COUNT = 24
APART = 0.4  # seconds; the server brings out what comes due within a quarter of a second in order of submission


async def test(ax):
    await ax.pool("email")
    await ax.pool("blocked", {"batch": 1, "backoff": "1s"})
    await ax.bound("AX_HIGH", ROOM)
    for i in range(ROOM):
        await ax.submit("x", f"first-{i:02}", "high", "blocked", retry=True)
    starts = Starts()
    await ax.worker(handler=starts)

    begin = time.time() + 3 * SLOW
    when = {i: begin + i * APART for i in range(COUNT)}
    for i in reversed(range(COUNT)):  # the last one due is submitted first
        for priority, pool in (("high", "blocked"), ("low", "email"), ("normal", "email")):
            answer = await ax.submit("x", f"{priority}-{i:02}", priority, pool, headers={"Ax-At": rfc3339(when[i])})
            assert answer["state"] == "later", answer
    assert time.time() < begin, "submitting took too long: some were due already"

    # high is full all the while, normal and low go on.
    await eventually(lambda: len(starts.order) == 2 * COUNT, COUNT * APART + 10, "normal and low run")
    for priority in ("normal", "low"):
        late = starts.lateness({f"{priority}-{i:02}": when[i] for i in range(COUNT)})
        print(f"{priority}: late by {late[0]:.3f} to {late[-1]:.3f} s")
        assert late[-1] < 1.5 * SLOW, f"{priority} was held up by high: {late[-1]:.2f} s late"
        order = [k for k in starts.order if k.startswith(priority)]
        assert order == sorted(order), f"not in order of due time: {order}"
    assert await ax.messages("AX_HIGH") == ROOM, "the bound holds for due tasks, too"
    waiting = await ax.subjects("AX_LATER")
    assert len(waiting) == COUNT and all(s.startswith("ax.due.high.blocked.") for s in waiting), waiting
    again = await ax.submit("x", "high-00", "high", "blocked")
    assert again["duplicate"] is True and again["state"] == "later", again

    # Another instance may take over; nothing is lost, nothing comes twice.
    await ax.ingress.restart(hard=False)
    assert len(await ax.subjects("AX_LATER")) == COUNT

    blocked = Starts()
    await ax.worker("blocked", blocked, pulls=1)
    await ax.settled(ROOM + 3 * COUNT, 60)
    late = blocked.lateness({f"high-{i:02}": when[i] for i in range(COUNT)})
    print(f"high: late by {late[0]:.1f} to {late[-1]:.1f} s")
    order = [k for k in blocked.order if k.startswith("high")]
    assert order == sorted(order), f"not in order of due time: {order}"
    assert len(blocked.order) == ROOM + COUNT and sorted(blocked.order[:ROOM]) == [f"first-{i:02}" for i in range(ROOM)]


run(test, 160)
