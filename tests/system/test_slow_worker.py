# A worker that slows down is handed less than its fast neighbour, because it asks for less: with a fixed rate and with
# one that adapts, and the fast one is not slowed down with it.
# ctest: timed
# ctest: timeout=120
import asyncio
import time

from harness import eventually, run

FAST_S, SLOW_S = 0.04, 0.4


async def measure(ax, what, workers, slow):
    """Tasks that each worker finished in 3 s, while the second one is slow or not."""
    took[1] = SLOW_S if slow else FAST_S
    await asyncio.sleep(1)
    before = [len(w.finished) for w in workers]
    begin = time.monotonic()
    await asyncio.sleep(3)  # this measures: there is no condition to wait for
    seconds = time.monotonic() - begin
    counts = [len(w.finished) - b for w, b in zip(workers, before)]
    print(f"{what}: {counts} in {seconds:.1f} s")
    return counts


took = [FAST_S, FAST_S]


async def test(ax):
    await ax.pool("email", {"batch": 1})

    def handler(number):
        async def work(task):
            await asyncio.sleep(took[number])
        return work
    workers = [await ax.worker(handler=handler(i), pulls=4, name=f"worker-{i}") for i in range(2)]
    feeding = asyncio.create_task(ax.push([(None, b"x")] * 100000, producers=1, window=64))
    await eventually(lambda: min(len(w.finished) for w in workers) > 50, 20, "both work")
    both = await measure(ax, "both fast", workers, False)
    assert min(both) >= 0.5 * max(both), both
    fixed = await measure(ax, "one slow", workers, True)
    assert fixed[1] <= 0.3 * fixed[0], fixed
    assert fixed[0] >= 0.35 * both[0], f"the fast one was slowed down as well: {fixed} after {both}"
    await measure(ax, "both fast again", workers, False)
    await ax.put_pool("email", {"batch": 1, "adaptive": True})
    await eventually(lambda: (ax.dispatch.metric("ax_inflight_limit") or 0) >= 8, 30, "the window has opened")
    adaptive = await measure(ax, "one slow, adaptive", workers, True)
    assert adaptive[1] <= 0.3 * adaptive[0], adaptive
    feeding.cancel()


run(test)
