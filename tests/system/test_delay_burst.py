# 10,000 delayed tasks due within one second, ten times what their queue holds: all run, none twice, none early; the
# distribution of lateness is printed. tests/bench/lateness.py does the same with 100,000.
# ctest: serial
import time

from harness import SLOW, run
from lateness import Starts, histogram, report, submit_batches

COUNT = 10000


async def test(ax):
    await ax.pool("email", {"batch": 100})
    starts = Starts()
    await ax.worker(handler=starts, pulls=8, batch=50)
    begin = time.time() + 8 * SLOW
    due = {f"t-{i}": begin + i / COUNT for i in range(COUNT)}
    await submit_batches(ax, due)
    assert time.time() < begin, "submitting took too long: some were due already"
    assert await ax.messages("AX_LATER") == COUNT
    await ax.settled(COUNT, 60)
    late = starts.lateness(due)
    report("10,000 in one second", late)
    histogram(late)
    assert late[-1] < 20 * SLOW, f"the last one {late[-1]:.1f} s late"


run(test)
