# The host's wall clock goes back an hour and forward an hour under ingress and dispatch (libfaketime, preloaded into
# those two): delays are still right, never early and at most 0.5 s late at p99. Monotonic clocks are left alone
# (FAKETIME_DONT_FAKE_MONOTONIC): no step of a wall clock moves them.
# ctest: timed
# ctest: timeout=180
import random
import time

from faketime import HostClock
from harness import eventually, run
from lateness import Starts, report, submit_at

COUNT = 300


async def test(ax):
    clock = HostClock(ax)
    ingress, dispatch = clock.daemon("ax-ingress"), clock.daemon("ax-dispatch")
    for d in (ingress, dispatch):
        await d.ready()
    await ax.pool("email", {"backoff": "1s"})
    starts = Starts()
    worker = await ax.worker(handler=starts)
    chance = random.Random(2)
    total = 0
    for offset in (-3600, 3600):
        # Half of them are submitted before the step and due after it, half are submitted after it.
        begin = time.time() + 6
        before = {f"before {offset} {i}": begin + chance.uniform(0, 3) for i in range(COUNT)}
        await submit_at(ax, before)
        delayed = await ax.submit("x", f"delay {offset}", headers={"Ax-Delay": "5s"})
        sent = time.time()
        clock.set(offset)
        for d in (ingress, dispatch):
            await eventually(lambda d=d: clock.is_told(d), 10, f"{d.name} lives {offset} s from real time", every=0.2)
        after = {f"after {offset} {i}": time.time() + 1.5 + chance.uniform(0, 3) for i in range(COUNT)}
        await submit_at(ax, after)
        now = await ax.submit("x", f"now {offset}")
        assert (delayed["state"], now["state"]) == ("later", "queued"), (delayed, now)
        total += 2 * COUNT + 2
        await ax.settled(total, 30)
        late = starts.lateness({**before, **after})
        assert report(f"host clock at {offset} s", late) <= 0.5, "too late"
        delay = starts.at[f"delay {offset}"][0] - sent
        assert 4.99 <= delay <= 5.6, f"a delay of 5 s took {delay:.3f} s"
    submitted = [int(t.headers["Ax-Submitted"]) / 1e9 for t in worker.starts]
    wrong = [s for s in submitted if abs(s - time.time()) > 120]
    assert not wrong, f"Ax-Submitted follows the host's clock: {wrong[:3]}"
    for d in (ingress, dispatch):
        assert d.running() and clock.is_told(d)


run(test, 160, ingress=0, dispatch=0)
