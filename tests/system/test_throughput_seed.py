# 1,000 tasks of 20 ms and 4 workers: at least 98% of the theoretical 200 tasks/s, at dispatch batch 20 and at batch 1.
# ctest: serial
# ctest: timeout=120
import asyncio

from harness import eventually, run

COUNT, WORK_S, WORKERS = 1000, 0.02, 4


async def test(ax):
    for batch in (20, 1):
        pool = f"batch-{batch}"
        await ax.pool(pool, {"batch": batch})
        await asyncio.gather(*(ax.submit(str(i), f"k{i}", pool=pool) for i in range(COUNT)))
        busy = []

        async def handler(task):
            await asyncio.sleep(WORK_S)

        # Each worker asks for more while it works (two pulls), and works one at a time.
        gates = [asyncio.Semaphore(1) for _ in range(WORKERS)]

        def one_at_a_time(gate):
            async def guarded(task):
                async with gate:
                    task.started = asyncio.get_running_loop().time()
                    await handler(task)
                    busy.append((task.started, asyncio.get_running_loop().time()))
            return guarded

        for i in range(WORKERS):
            await ax.worker(pool, one_at_a_time(gates[i]), pulls=2, name=f"worker-{i}")
        await eventually(lambda: len(busy) == COUNT, 30, "all tasks worked")
        begun, ended = min(b for b, _ in busy), max(e for _, e in busy)
        # What the workers could do: the measured length of a task stands for its 20 ms (a timer is never early).
        mean = sum(e - b for b, e in busy) / COUNT
        possible = WORKERS / mean
        reached = COUNT / (ended - begun)
        print(f"batch {batch}: {reached:.1f} tasks/s, the workers alone {possible:.1f}/s (a task takes {mean * 1e3:.2f} ms)")
        assert reached >= 0.98 * possible, f"batch {batch}: {reached / possible:.3f} of what {WORKERS} workers can do"
        await ax.settled(COUNT * (1 if batch == 20 else 2), 20)


run(test)
