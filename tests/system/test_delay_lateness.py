# 1,000 tasks due over 10 s on an idle system: none starts before its time, at most 0.5 s late at p99.
# ctest: serial
import random
import time

from harness import SLOW, run
from lateness import Starts, report, submit_at

COUNT = 1000


async def test(ax):
    await ax.pool("email")
    starts = Starts()
    await ax.worker(handler=starts)
    chance = random.Random(1)
    begin = time.time() + 4 * SLOW
    due = {f"t-{i}": begin + chance.uniform(0, 10) for i in range(COUNT)}
    await submit_at(ax, due)
    assert time.time() < begin, "submitting took too long: some were due already"
    await ax.settled(COUNT, 40)
    p99 = report("1,000 over 10 s", starts.lateness(due))
    assert p99 <= 0.5 * SLOW, f"p99 {p99:.3f} s late, 0.5 s are promised"


run(test)
