# JetStream stores 64 KiB of headers, whatever max_payload is: a task that would not fit with AX's own is refused, or
# becomes a dead letter when there is nobody to tell, and nothing is tried for ever. One that somebody else put into its
# queue becomes a dead letter, too.
# ctest: timeout=60
# ctest: sanitize=address
from harness import Refused, eventually, run

FITS, LONGER = 65535 - 2048 - len("Trace: \r\n"), 65470


async def test(ax):
    await ax.pool("email")
    worker = await ax.worker()
    await ax.submit("x", headers={"Trace": "t" * FITS})
    await eventually(lambda: len(worker.starts) == 1, 10, "the longest there may be runs")
    for length in (FITS + 1, 65300, 65440):
        try:
            await ax.submit("x", headers={"Trace": "t" * length})
            raise AssertionError("accepted")
        except Refused as refused:
            assert refused.code == 400 and f"headers: key and headers of {length + 9} bytes" in str(refused), refused.error
    for length in (FITS + 1, 65300, LONGER, 65510):
        await ax.nc.publish("ax.submit.high.email", b"silent", headers={"Trace": "t" * length})
    await eventually(lambda: ax.ingress.metric("ax_ingress_buried_total") == 4, 10, "silent ones are dead letters")
    await eventually(lambda: ax.ingress.metric("ax_ingress_working") == 0, 10, "and nothing is in flight")
    assert await ax.messages("AX_DEAD") == 4

    # By hand, as long as JetStream takes them.
    ack = await ax.js.publish("ax.queue.high.email.abc", b"x", headers={"Trace": "t" * 65480})
    assert ack.stream == "AX_HIGH"

    async def buried():
        return await ax.messages("AX_DEAD") == 5 and await ax.messages("AX_HIGH") == 0
    await eventually(buried, 15, "a dead letter")
    assert "hand-off refused" not in ax.dispatch.log()
    assert len(worker.starts) == 1


run(test)
