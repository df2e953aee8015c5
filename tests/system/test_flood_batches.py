# Batches of a thousand tasks, 1 MB in all, without pause on four connections: they are counted by what they take to be
# worked on.
# ctest: timeout=150
# ctest: timed
import wire
from flood import keeps_to_memory
from harness import run


async def test(ax):
    batch = wire.batch([wire.task(body="x" * 980)] * 1000)
    await keeps_to_memory(ax, 64, batch, "_INBOX.flood", {"Ax-Schema": "ax.v1.TaskBatch"})
    assert ax.ingress.metric("ax_ingress_refused_total") > 0


run(test, ingress_args=["--max-memory", "64MiB"])
