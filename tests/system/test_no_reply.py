# A publish without a reply subject cannot be answered, but it is never lost: it is accepted as usual, spilled when the
# queue is full, and stored as a dead letter when it is invalid.
# ctest: timeout=120
# ctest: sanitize
import collections

from harness import eventually, run


async def test(ax):
    await ax.pool("email")
    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "50", "-f")
    for i in range(200):
        await ax.nc.publish("ax.submit.high.email", f"body {i}".encode(), headers={"Nats-Msg-Id": f"k{i}"})
    for i in range(20):  # repeats: of queued and of spilled ones
        await ax.nc.publish("ax.submit.high.email", b"again", headers={"Nats-Msg-Id": f"k{i * 10}"})
    await ax.nc.publish("ax.submit.high.email", b"bad header", headers={"Ax-Max-Retry": "lots"})
    await ax.nc.publish("ax.submit.urgent.email", b"bad priority", headers={"Nats-Msg-Id": "u"})
    await ax.nc.publish("ax.submit.high.no such pool".replace(" ", "$"), b"bad pool")
    await ax.nc.publish("ax.submit.high.email.x.y", b"bad subject")
    await ax.nc.flush()

    async def stored():
        return (await ax.messages("AX_HIGH"), await ax.messages("AX_SPILL"), await ax.messages("AX_DEAD")) == (50, 150, 4)
    await eventually(stored, 15, "50 queued, 150 spilled, 4 dead")
    bodies = set()
    for subject in await ax.subjects("AX_DEAD"):
        headers, body, _ = await ax.last("AX_DEAD", subject)
        assert headers["Ax-Reason"].startswith("invalid: "), headers
        bodies.add(body)
        if body == b"bad header":
            assert "lots" in headers["Ax-Reason"] and subject.startswith("ax.dead.email."), (subject, headers)
    assert bodies == {b"bad header", b"bad priority", b"bad pool", b"bad subject"}, bodies

    worker = await ax.worker(pulls=4)
    await ax.settled(200, 40, dead=4)
    runs = collections.Counter(t.key for t in worker.starts)
    assert set(runs) == {f"k{i}" for i in range(200)} and max(runs.values()) == 1, runs.most_common(3)
    assert all(t.body == b"body " + t.key[1:].encode() for t in worker.starts)


run(test)
