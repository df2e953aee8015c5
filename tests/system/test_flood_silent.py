# 1 MB submissions without pause on four connections, and nobody to tell: what there is no memory for is dropped and
# counted.
# ctest: timeout=120
# ctest: timed
from flood import keeps_to_memory
from harness import run


async def test(ax):
    await keeps_to_memory(ax, 64, b"x" * 1000000)
    assert ax.ingress.metric("ax_ingress_dropped_total") > 0
    assert ax.ingress.log().count("submission without reply subject dropped") < 5, "a line for each"


run(test, ingress_args=["--max-memory", "64MiB"])
