# 1 MB submissions without pause on four connections, each with a reply subject.
# ctest: timeout=120
# ctest: timed
from flood import keeps_to_memory
from harness import run


async def test(ax):
    await keeps_to_memory(ax, 64, b"x" * 1000000, "_INBOX.flood")
    assert ax.ingress.metric("ax_ingress_dropped_total") == 0


run(test, ingress_args=["--max-memory", "64MiB"])
