# Submissions that nobody waits for and that are not valid become dead letters until AX_DEAD has ax.max_dead_bytes: then
# they are dropped and counted. Tasks that were accepted have their dead letters all the same.
# ctest: timeout=60
# ctest: sanitize=address
from harness import eventually, run

MAX = 1 << 20


async def test(ax):
    await ax.pool("email")
    config = (await ax.stream("AX_DEAD"))["config"]
    assert config["metadata"]["ax.max_dead_bytes"] == str(1 << 30), config["metadata"]
    await ax.edit_stream("AX_DEAD", metadata={**config["metadata"], "ax.max_dead_bytes": str(MAX)})
    metric = ax.ingress.metric
    await eventually(lambda: metric("ax_ingress_dead_limit_bytes") == MAX, 20, "the bound is known")

    for _ in range(40):
        await ax.nc.publish("ax.submit.high.email", b"x" * 100000, headers={"Ax-Delay": "never"})
    await eventually(lambda: metric("ax_ingress_buried_total") + (metric("ax_ingress_dropped_total") or 0) == 40, 15,
                     "each is one or the other")
    kept = metric("ax_ingress_buried_total")
    assert 9 <= kept <= 10, kept
    assert (await ax.stream("AX_DEAD"))["state"]["bytes"] <= MAX
    lines = [line for line in ax.ingress.log().splitlines() if "AX_DEAD is full" in line]
    assert len(lines) == 1, lines
    await eventually(lambda: metric("ax_ingress_working") == 0, 10, "nothing is in flight")

    async def term(task):
        return "term", "no good"
    await ax.worker(handler=term)
    for i in range(5):
        await ax.submit(b"y" * 100000, f"k{i}")

    async def all_dead():
        return await ax.messages("AX_DEAD") == kept + 5
    await eventually(all_dead, 15, "dead letters of accepted tasks")

    # Room again: after a purge.
    await ax.api("STREAM.PURGE.AX_DEAD", {})
    await eventually(lambda: metric("ax_ingress_dead_bytes") == 0, 20, "the purge is known")
    await ax.nc.publish("ax.submit.high.email", b"x", headers={"Ax-Delay": "never"})
    await eventually(lambda: metric("ax_ingress_buried_total") == kept + 1, 10, "it is kept")


run(test)
