# 20,000 tasks wait in AX_LATER: ingress and dispatch stay under 64 MiB each, and idle under 1% of a core; a restarted
# ingress reads them back and knows their keys. tests/bench/lateness.py --waiting 200000 does the same with 200,000.
# ctest: timed
import asyncio
import time

from harness import SANITIZE, eventually, run
from lateness import resources, submit_batches

COUNT = 20000


async def test(ax):
    await ax.pool("email")
    await ax.worker()
    empty = resources(ax.server)[0]
    due = {f"t-{i}": time.time() + 3600 + i / 100 for i in range(COUNT)}
    await submit_batches(ax, due)
    assert await ax.messages("AX_LATER") == COUNT
    print(f"nats-server: {(resources(ax.server)[0] - empty) / COUNT:.0f} bytes per waiting task")
    for restarted in (False, True):
        if restarted:
            await ax.ingress.restart()
            await ax.dispatch.restart()
            await eventually(lambda: ax.ingress.metric("ax_ingress_later_ids") == COUNT, 20, "all ids are read back")
        await asyncio.sleep(2)  # what submitting or starting has left to do
        before = {d: resources(d) for d in (ax.ingress, ax.dispatch)}
        started = time.monotonic()
        await asyncio.sleep(5)
        for d, (_, cpu) in before.items():
            rss, now = resources(d)
            busy = (now - cpu) / (time.monotonic() - started)
            print(f"{d.name}{' restarted' if restarted else ''}: {rss / 2**20:.1f} MiB, {busy:.2%} of a core")
            assert SANITIZE or rss < 64 * 2**20, f"{d.name} uses {rss / 2**20:.1f} MiB with {COUNT} tasks waiting"
            assert busy < 0.01, f"{d.name} uses {busy:.2%} of a core with {COUNT} tasks waiting"
        for key in ("t-0", f"t-{COUNT // 2}", f"t-{COUNT - 1}"):
            again = await ax.submit("x", key)
            assert again["duplicate"] is True and again["state"] == "later", again


run(test)
