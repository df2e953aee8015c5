# The leader is stopped (SIGSTOP) for longer than its lease and woken again, under load and with a rate: the other one
# leads meanwhile, the old one finds its lease lost and does no harm; no task runs twice, and no window has more starts
# than the bucket allows and one burst for each takeover.
# ctest: sanitize=address
import asyncio

from harness import LEASE_TTL, eventually, run
from kill import check
from leaders import Load, first_start_after, leader, led_by

RATE, BURST = 150, 30
PAUSES = 2


async def test(ax):
    await ax.pool("email", {"rate": RATE, "burst": BURST, "batch": 20}, ack_wait=30)
    worker = await ax.worker(pulls=16)
    load = Load(ax, "email").start()
    for _ in range(PAUSES):
        seen = len(worker.starts)
        await eventually(lambda s=seen: len(worker.starts) > s + RATE, 30, "work goes on")
        old = await eventually(lambda: leader(ax, "email"), 10, "one leader")
        lost = old.metric("ax_leases_lost_total")
        old.pause()
        # What it had sent just before may still be on its way: wait for the other one to lead.
        other = next(d for d in ax.dispatches if d is not old)
        await eventually(lambda d=other: led_by(d) == {"email"}, 2 * LEASE_TTL + 1, "the other one leads")
        fence = (await ax.stream("AX_WORK"))["state"]["last_seq"]
        await first_start_after(worker, fence, 2 * LEASE_TTL)
        await asyncio.sleep(0.3)  # the new one is well under way
        old.resume()

        def knows(daemon=old, before=lost):
            now = daemon.metric("ax_leases_lost_total")
            assert now == before + 1, f"{daemon.name} lost {now} leases, {before} before"
            return True
        await eventually(knows, 10, "the old one knows")
        new = await eventually(lambda: leader(ax, "email"), 10, "one leader")
        assert new is not old
        assert old.running()
    count = await load.stop()
    await ax.settled(count, 60)
    check([worker], count)
    assert all(t.attempt == 1 for t in worker.starts)
    times = sorted(t.started for t in worker.starts)
    for i, start in enumerate(times):
        for j in range(i + 1, len(times)):
            span = times[j] - start
            if span > 5:
                break
            # + 0.25 s: from the token to the worker's start
            assert j - i + 1 <= BURST * (1 + PAUSES) + RATE * (span + 0.25) + 1, (j - i + 1, span)


run(test, 100, dispatch=2)
