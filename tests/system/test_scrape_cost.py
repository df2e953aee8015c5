# With 100 pools a scrape of /metrics costs ax-dispatch less than 5 ms of processor time, and ax-ingress, too. Counted
# is the time of the thread that answers, so that neither what the daemon does besides nor other processes count.
# ctest: timed
import asyncio
import glob
import re

from harness import SANITIZE, eventually, run

POOLS, SCRAPES, LIMIT_MS = 100, 40, 5


def thread_times(pid):
    """Nanoseconds that each thread has run."""
    times = {}
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path) as f:
            times[path] = int(f.read().split()[0])
    return times


async def cost_ms(daemon):
    """Of the busiest thread beside the main one, a scrape; the smallest of three series."""
    results = []
    main = f"/proc/{daemon.p.pid}/task/{daemon.p.pid}/schedstat"
    for _ in range(3):
        before = thread_times(daemon.p.pid)
        for _ in range(SCRAPES):
            status, text = await asyncio.to_thread(daemon.get, "/metrics")
            assert status == 200
        after = thread_times(daemon.p.pid)
        spent = {path: ns - before.get(path, 0) for path, ns in after.items() if path != main}
        results.append(max(spent.values()) / SCRAPES / 1e6)
    return min(results), text


async def test(ax):
    for i in range(POOLS):
        await ax.put_pool(f"pool-{i}", {"rate": 100})
    await eventually(lambda: ax.dispatch.metric("ax_pool_led") == POOLS, 60, "all are led")
    await eventually(lambda: len(re.findall("^ax_pending_dispatch{", ax.dispatch.get("/metrics")[1], re.M)) == 3 * POOLS, 60,
                     "what waits is told for each", every=0.5)
    for daemon in (ax.dispatch, ax.ingress):
        ms, text = await cost_ms(daemon)
        print(f"{daemon.name}: {ms:.2f} ms a scrape, {len(text.splitlines())} lines, {len(text)} bytes")
        assert 0 < ms and (SANITIZE or ms < LIMIT_MS), f"{daemon.name}: {ms:.2f} ms a scrape"
    await ax.dispatch.ready()


run(test)
