# --pool-submit-rate: a pool's submissions beyond it are told to come back, those of another pool are not; a batch counts
# by its tasks, and what has no reply subject is dropped and counted.
# ctest: timeout=60
import asyncio
import time

import wire
from harness import Refused, eventually, run

RATE = 50


async def test(ax):
    await asyncio.gather(ax.pool("email"), ax.pool("sms"))
    began = time.monotonic()
    accepted, refused = 0, []

    async def one(i):
        nonlocal accepted
        try:
            await ax.submit("x", f"k{i}")
            accepted += 1
        except Refused as error:
            refused.append(error)
    await asyncio.gather(*(one(i) for i in range(300)))
    took = time.monotonic() - began
    assert RATE <= accepted <= RATE + RATE * took + 1, (accepted, took)
    for error in refused:
        assert (error.code, error.err_code) == (503, 10077), error.error
        assert str(error) == f'pool "email": more than {RATE} submissions a second (--pool-submit-rate), retry in 1000ms'
    await ax.submit("x", pool="sms")
    await ax.submit("x", "later", retry=True)

    # A batch of 120 is taken when there is room for one, and paid off.
    batch = wire.batch([wire.task(body=f"b{i}", key=f"b{i}") for i in range(120)])

    async def ask():
        return await ax.nc.request("ax.submit.high.sms", batch, timeout=10, headers={"Ax-Schema": "ax.v1.TaskBatch"})
    replies = wire.replies((await ask()).data)
    assert len(replies) == 120 and all(r.get("stream") == "AX_HIGH" for r in replies), replies[:2]
    try:
        await ax.submit("x", pool="sms")
        raise AssertionError("taken")
    except Refused as error:
        assert error.code == 503, error.error
    for _ in range(100):
        await ax.nc.publish("ax.submit.high.sms", b"silent")
    await eventually(lambda: ax.ingress.metric("ax_ingress_dropped_total") >= 50, 10, "silent ones are dropped, and counted")
    await ax.submit("x", pool="sms", retry=True)


run(test, ingress_args=["--pool-submit-rate", str(RATE)])
