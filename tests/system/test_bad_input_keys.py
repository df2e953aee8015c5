# Keys of 1 and 512 bytes, with spaces, dots, wildcards, quotes, colons, UTF-8 and all digits: each is one task, comes
# back to the worker as it was given, and is a duplicate the second time; also an empty body and bodies of any bytes.
# ctest: timeout=120
# ctest: sanitize
import re

import wire
from harness import eventually, own, run

KEYS = ["a", "k" * 512, "two  words", "a.b.c", ".", "*", ">", "a.*.>", '"quoted"', "'", "\\", "a:b::c", ":", "héllo wörld ✓",
        "日本語" * 50, "0", "1234567890", "007", "-1", "null", "{}", "%s%n", "$JS.ACK.x", "a\tb", "ax.queue.high.email.x",
        "../../etc/passwd", "Ax-Key", "x" * 510 + "é"]


async def test(ax):
    await ax.pool("email")
    worker = await ax.worker(pulls=8)
    ids = {}
    for i, key in enumerate(KEYS):
        reply = await wire.raw_request(ax.port, "ax.submit.high.email", b"Nats-Msg-Id: " + key.encode() + b"\r\n",
                                       b"" if i == 0 else bytes([i]) * i)
        assert reply.get("duplicate") is False, (key, reply)
        assert re.fullmatch(r"[0-9a-f]{32}", reply["task"]), reply
        ids[key] = reply["task"]
    assert len(set(ids.values())) == len(KEYS)
    await ax.settled(len(KEYS), 20)
    runs = {t.key: t for t in worker.starts}
    assert len(worker.starts) == len(KEYS)
    for i, key in enumerate(KEYS):
        assert key in runs, f"no task with key {key!r}: {[k for k in runs if k not in KEYS]}"
        assert runs[key].id == ids[key] and runs[key].body == (b"" if i == 0 else bytes([i]) * i), key
        reply = await wire.raw_request(ax.port, "ax.submit.high.email", b"Ax-Key: " + key.encode() + b"\r\n", b"again")
        assert reply.get("duplicate") is True and reply["state"] == "done" and reply["task"] == ids[key], (key, reply)
    for key in ("two  words", "1234567890", "日本語" * 50):
        text = await ax.command(own("ax"), "status", key, "--pool", "email")
        assert "done" in text, (key, text)
    # Keyless, empty or binary bodies.
    for body in (b"", b"\0", bytes(range(256)) * 16, b"\r\n+ACK\r\n"):
        before = len(worker.starts)
        await ax.submit(body)
        await eventually(lambda n=before: len(worker.starts) > n, 10)
        assert worker.starts[-1].body == body


run(test)
