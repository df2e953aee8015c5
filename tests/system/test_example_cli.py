# The nats CLI as producer and as worker.
# ctest: timeout=120
import os
import re

from harness import ROOT, eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "100ms", "max_retry": 1})
    producer, worker = (os.path.join(ROOT, "examples/cli", f"{name}.sh") for name in ("producer", "worker"))
    out = await ax.command(producer, "email", "invoice 1", "hello")
    assert re.search(r"Stored in Stream: AX_HIGH Sequence: \d+", out), out
    out = await ax.command(producer, "email", "invoice 1", "hello again")
    assert re.search(r"AX_HIGH.*[Dd]uplicate|Duplicate.*AX_HIGH", out), out
    assert await ax.messages("AX_HIGH") == 1
    out = await ax.command("nats", "req", "ax.submit.high.email", "by request", "--raw")
    assert '"stream":"AX_HIGH"' in out and '"state":"queued"' in out, out

    out = await ax.command(worker, "email", "2")
    assert "hello" in out and "by request" in out and "Ax-Task" in out and "hello again" not in out, out
    await ax.settled(2, 10)
    await ax.command(producer, "email", "bad", "poison")
    await ax.command("nats", "consumer", "next", "AX_WORK", "email", "--term")
    await ax.settled(2, 10, dead=1)
    await ax.command(producer, "email", "again", "fails once")
    await ax.command("nats", "consumer", "next", "AX_WORK", "email", "--nak")
    out = await ax.command(worker, "email")
    assert "Ax-Attempt: 2" in out, out
    await ax.settled(3, 10, dead=1)

    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "1", "-f")
    await ax.submit("filler", "filler")
    waiting = ax.spawn("producer", [producer, "email", "invoice 2", "waited"],
                       {"PATH": ax.path()})
    await eventually(lambda: re.search(r"queue high is full \(1 tasks?\), retry in \d+ms", waiting.log()), 20)
    assert waiting.running()
    await ax.command(worker, "email", "2")
    await eventually(lambda: not waiting.running() and waiting.p.returncode == 0, 20)
    await ax.settled(5, 10, dead=1)
    # Where a task is, by subject.
    out = await ax.command("nats", "stream", "get", "AX_DEAD", "--last-for", "ax.dead.email.>")
    assert "poison" in out and "Ax-Reason" in out, out


run(test)
