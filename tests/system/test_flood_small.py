# Many small submissions that nobody waits for, of a pool whose share of the queue is used up: what is kept of them is
# bounded in bytes, and the submissions of others are taken meanwhile.
# ctest: timeout=120
# ctest: timed
from flood import Flood, check_times, other_pools_start, resident_mib
from harness import eventually, run


async def test(ax):
    await ax.edit_stream("AX_LOW", max_msgs=100)
    await ax.pool("email")
    worker = await ax.worker()
    await ax.submit("x")
    await eventually(lambda: worker.starts, 10, "the first task starts")
    base, metric = resident_mib(ax.ingress.p.pid), ax.ingress.metric
    async with Flood(ax, 2, 6, "ax.submit.low.hoard", b"x" * 5000) as flood:
        times = await other_pools_start(ax, flood, worker)
    print(f"{flood.sent.value} sent, ingress from {base:.0f} to {flood.most_mib:.0f} MiB, {len(times)} tasks of another pool started "
          f"within {times[-1]:.2f} s, dropped {metric('ax_ingress_dropped_total'):.0f}")
    assert flood.most_mib < base + 64 + 64, flood.most_mib
    check_times(times)
    assert metric("ax_ingress_dropped_total") > 0
    await ax.ingress.ready(5)
    await eventually(lambda: metric("ax_ingress_memory_bytes") == 0, 40, "all memory is given back")


run(test, ingress_args=["--max-memory", "64MiB", "--inflight", "1000"])
