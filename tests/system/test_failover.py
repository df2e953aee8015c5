# Two dispatchers; the one that leads is killed under load, again and again: the other takes over within two lease
# times, every task is done, and none whose worker lived runs twice.
# AX_TEST_FAILOVERS=20 AX_TEST_LEASE_TTL=5 for the figures in docs/operating.md.
# ctest: timeout=200
# ctest: sanitize=thread
import os

from harness import LEASE_TTL, SANITIZE, SLOW, eventually, run
from kill import check
from leaders import Load, first_start_after, leader, led_by, now

ROUNDS = int(os.environ.get("AX_TEST_FAILOVERS") or (2 if SANITIZE else 3))
TTL = int(os.environ.get("AX_TEST_LEASE_TTL") or LEASE_TTL)


async def test(ax):
    await ax.pool("email", {"batch": 20}, ack_wait=30)
    await eventually(lambda: leader(ax, "email"), 2 * TTL + 5, "one leader")
    worker = await ax.worker(pulls=8, batch=4)
    load = Load(ax, "email").start()
    times = []
    for number in range(ROUNDS):
        seen = len(worker.starts)
        await eventually(lambda s=seen: len(worker.starts) > s + 200, 30, "work goes on")
        old = await eventually(lambda: leader(ax, "email"), 10, "one leader")
        old.kill()
        killed = now()
        # What it had sent just before may still be on its way: wait for the other one to lead.
        other = next(d for d in ax.dispatches if d is not old)
        await eventually(lambda d=other: led_by(d) == {"email"}, 2 * TTL + 3, "the other one leads", every=0.005)
        fence = (await ax.stream("AX_WORK"))["state"]["last_seq"]
        took = await first_start_after(worker, fence, 2 * TTL + 3) - killed
        assert took <= 2 * TTL * SLOW, f"round {number}: {took:.2f} s without a leader, lease time {TTL} s"
        times.append(took)
        old.start()
        await old.ready()
    count = await load.stop()
    await ax.settled(count, 60)
    check([worker], count)
    assert all(t.attempt == 1 for t in worker.starts)
    times.sort()
    print(f"failover: lease time {TTL} s, {ROUNDS} kills, {count} tasks: median {times[len(times) // 2]:.2f} s, "
          f"worst {times[-1]:.2f} s, none run twice")


run(test, 60 + ROUNDS * 20, dispatch=2, dispatch_args=("--lease-ttl", f"{TTL}s"))
