# 1,000 tasks of 20 ms and 4 workers: at least 98% of what the workers can do (200 tasks/s), at dispatch batch 20 and 1.
# ctest: serial
# ctest: timeout=120
import asyncio
import os

from harness import SANITIZE, eventually, run
from tools import go_build

COUNT, WORK_MS, WORKERS = 1000, 20, 4
REACHED = 0.9 if SANITIZE else 0.98


async def test(ax):
    client = await asyncio.to_thread(go_build, "tests/system/clients", "./worker", os.path.join(ax.directory, "client"))
    await ax.bound("AX_HIGH", COUNT)
    for round_number, batch in enumerate((20, 1), 1):
        pool = f"batch-{batch}"
        await ax.pool(pool, {"batch": batch})
        await asyncio.gather(*(ax.submit(str(i), f"k{i}", pool=pool) for i in range(COUNT)))
        process = ax.spawn(pool, [client, pool, "ahead", str(WORKERS), str(WORK_MS)])
        await eventually(lambda p=process: p.log().count("end ") == COUNT, 30, "all tasks worked", every=0.3)
        lines = [line.split() for line in process.log().splitlines()]
        start = {words[1]: int(words[4]) for words in lines if words[0] == "start"}
        end = {words[1]: int(words[2]) for words in lines if words[0] == "end"}
        # A timer is never early: the mean length of a task as it was stands for its 20 ms.
        mean_s = sum(end[k] - start[k] for k in start) / len(start) / 1e9
        begins = sorted(start.values())
        reached = (COUNT - WORKERS) / (begins[-1] - begins[0]) * 1e9
        possible = WORKERS / mean_s
        print(f"batch {batch}: {reached:.1f} tasks/s; {WORKERS} workers and {mean_s * 1e3:.2f} ms make {possible:.1f}/s")
        assert len(start) == COUNT
        assert reached >= REACHED * possible, f"batch {batch}: {reached / possible:.3f} of what the workers can do"
        await ax.settled(COUNT * round_number, 20)


run(test)
