# A full queue is the client's ordinary JetStream error, with the time after which to try again.
# ctest: timeout=120
# ctest: sanitize
import re

import nats.js.errors
from harness import Refused, eventually, run


async def test(ax):
    await ax.pool("email")
    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "10", "-f")

    await ax.submit("x", "known")

    async def full():
        try:
            await ax.submit("x")
        except Refused:
            return True
    await eventually(full, 10, "the queue is full")
    assert await ax.messages("AX_HIGH") == 10

    try:
        await ax.js.publish("ax.submit.high.email", b"x", headers={"Nats-Msg-Id": "one more"})
        raise AssertionError("accepted although the queue is full")
    except nats.js.errors.ServiceUnavailableError as error:
        assert (error.code, error.err_code) == (503, 10077), error
        found = re.fullmatch(r"queue high is full \(10 tasks\), retry in (\d+)ms", error.description)
        assert found and 1 <= int(found[1]) <= 60000, error.description
    msg = await ax.nc.request("ax.submit.high.email", b"x", timeout=10)
    assert re.fullmatch(r"\d+ms", msg.headers["Ax-Retry-After"]), msg.headers

    # Other priorities have room; a known key is answered also while the queue is full.
    assert (await ax.submit("x", "low", priority="low"))["duplicate"] is False
    assert (await ax.submit("x", "known"))["duplicate"] is True

    # What was refused left nothing behind: with room it goes in as new and runs once.
    worker = await ax.worker()
    assert (await ax.submit("x", "one more", retry=True))["duplicate"] is False
    await ax.settled(12, 30)
    assert len(worker.starts) == 12, len(worker.starts)


run(test)
