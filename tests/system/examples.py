"""Runs one example producer and worker against the real thing, as a user would."""
import asyncio
import re

from harness import eventually

ACK = re.compile(r"stream=(\S+) seq=(\d+) duplicate=(true|false)")


async def play(ax, producer, worker):
    """producer, worker: argv to which POOL KEY BODY and POOL are added."""
    await ax.pool("email", {"backoff": "100ms", "max_retry": 1})

    async def produce(key, body):
        out = await ax.command(*producer, "email", key, body)
        found = ACK.search(out)
        assert found, out
        return found[1], int(found[2]), found[3] == "true"

    # A normal PubAck; a duplicate while queued, while running, after it is done.
    stream, seq, duplicate = await produce("invoice 1", "first")
    assert stream == "AX_HIGH" and seq > 0 and not duplicate
    assert (await produce("invoice 1", "second"))[2] is True
    release = asyncio.Event()

    async def hold(task):
        await release.wait()

    holder = await ax.worker(handler=hold, pulls=1)
    await eventually(lambda: holder.starts, 10)
    assert (await produce("invoice 1", "third"))[2] is True
    release.set()
    await ax.settled(1, 10)
    assert (await produce("invoice 1", "fourth"))[2] is True
    ax.workers.remove(holder)
    await holder.stop()

    # A full queue: the client's own error with the hint in its text, and in it goes when there is room.
    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "1", "-f")
    await ax.submit("filler", "filler")
    waiting = ax.spawn("producer", [*producer, "email", "invoice 2", "waited"])
    await eventually(lambda: re.search(r"queue high is full \(1 tasks?\), retry in \d+ms", waiting.log()), 20,
                     "the busy error in the producer's output")
    assert waiting.running(), "the producer gave up"
    process = ax.spawn("worker", [*worker, "email"])
    await eventually(lambda: ACK.search(waiting.log()), 20, "the producer got in")
    await eventually(lambda: not waiting.running() and waiting.p.returncode == 0, 10)
    await ax.settled(3, 20)
    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "1000", "-f")

    # The worker acks, naks, terminates.
    await ax.submit("fail", "fails")
    poison = await ax.submit("", "poison")
    for i in range(20):
        await ax.submit(f"body {i}", f"more {i}")
    await ax.settled(23, 30, dead=2)
    log = process.log()
    done = dict(re.findall(r"done task=\S+ fence=(\d+) body=(.*)", log))
    assert set(done.values()) == {"filler", "waited", *(f"body {i}" for i in range(20))}, log
    assert all(int(fence) > 0 for fence in done), log
    assert len(re.findall(r"failed task=\S+ fence=[1-9]", log)) == 2, log
    headers, _, _ = await ax.last("AX_DEAD", f"ax.dead.email.{poison['task']}")
    assert "empty body" in headers["Ax-Reason"], headers
    # One that is wrong in itself is not tried again and again.
    out = await ax.command(*producer, "em$ail", "k", "x", check=False)
    assert "em$ail" in out and not ACK.search(out), out
