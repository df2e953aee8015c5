# While a queue is full one firing of a schedule waits for it at most, with overlap queue, too, whoever else waits; the
# others are skipped and counted. So AX_LATER does not grow, and other pools' due tasks come within a second.
# ctest: timeout=120
# ctest: timed
import asyncio
import time

from harness import SLOW, Ax, eventually, run

SCHEDULES = 200
BOUND = 100


async def test(ax):
    await ax.pool("email")
    await ax.pool("idle")
    await ax.edit_stream("AX_HIGH", max_msgs=BOUND)
    await eventually(lambda: all(d.metric("ax_ingress_queue_limit_tasks") == BOUND + 15000 for d in ax.ingresses), 15,
                     "the bound is known")
    worker = await ax.worker()
    # The queue is at idle's share, and more of its tasks are due than a feeder holds.
    await asyncio.gather(*(ax.submit("x", pool="idle", retry=True) for _ in range(90)))
    await asyncio.gather(*(ax.submit("x", pool="idle", headers={"Ax-Delay": "500ms"}) for _ in range(400)))
    cron = {"Ax-Cron": "@every 1s", "Ax-Overlap": "queue"}
    await asyncio.gather(*(ax.submit("x", f"cron-{i}", pool="idle", headers=cron) for i in range(SCHEDULES)))

    def skipped():
        return sum(d.metric("ax_ingress_cron_skipped_total") or 0 for d in ax.ingresses)
    await eventually(lambda: skipped() >= SCHEDULES, 20, "firings are skipped")
    highest, began, longest = 0, time.monotonic(), 0
    while time.monotonic() < began + 5:
        highest = max(highest, await ax.messages("AX_LATER"))
        before, sent = len(worker.starts), time.monotonic()
        await ax.submit("x", headers={"Ax-Delay": "300ms"}, retry=True)
        await eventually(lambda n=before: len(worker.starts) > n, 10, "email's due task comes", every=0.01)
        longest = max(longest, worker.starts[-1].started - sent - 0.3)
    fired = skipped()
    print(f"at most {highest} messages in AX_LATER, {fired:g} firings skipped, email's came within {longest:.3f} s")
    # Tasks, schedules, one firing of each that waits, and what is being looked at.
    assert highest <= 400 + 2 * SCHEDULES + SCHEDULES // 2 + 10, highest
    assert fired >= 3 * SCHEDULES, fired
    assert longest < 1 * SLOW, f"a due task of another pool came {longest:.2f} s late"

    due = [s for s, n in (await ax.subjects("AX_LATER")).items() if s.startswith("ax.due.high.idle.") and n > 2]
    assert not due, f"several firings wait: {due[:3]}"


run(test, make=lambda: Ax(ingress=2))
