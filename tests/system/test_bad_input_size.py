# Bodies near the server's max_payload: over it the server refuses, near it ingress names the size that fits, and a task
# of exactly that size can be handed over, retried and stored as a dead letter. No connection is ever lost.
# ctest: timeout=120
# ctest: sanitize
import json
import re
import urllib.request

import nats.errors
from harness import Refused, eventually, run

MAX = 65536


async def test(ax):
    await ax.pool("email", {"backoff": "50ms", "max_retry": 1})

    async def handler(task):
        if task.key == "k" * 512:
            return "nak" if task.attempt == 1 else ("term", "r" * 255)

    worker = await ax.worker(handler=handler)
    ids = {c["name"]: c["cid"] for c in await connections(ax)}
    try:
        await ax.submit(b"x" * (MAX + 1))
        raise AssertionError("the client sent more than max_payload")
    except nats.errors.MaxPayloadError:
        pass
    headers = {"traceparent": "t" * 55, "X-Long": "v" * 1000}
    fits = None
    for size in (MAX - 1800, MAX - 3000):
        try:
            await ax.submit(b"x" * size, "k" * 512, headers=headers)
            raise AssertionError(f"{size} bytes were accepted")
        except Refused as refused:
            assert refused.code == 400, refused.error
            found = re.search(r"body of (\d+) bytes with key and headers of (\d+) .* at most (\d+)", str(refused))
            assert found and int(found[1]) == size, f"the size given or the one that fits is not named: {refused}"
            fits = int(found[3]) - int(found[2])
    body = bytes(i % 251 for i in range(fits))
    reply = await ax.submit(body, "k" * 512, headers=headers)
    assert reply["duplicate"] is False, reply
    try:
        await ax.submit(body + b"x", "K" * 512, headers=headers)
        raise AssertionError("one byte more than fits was accepted")
    except Refused:
        pass
    await ax.settled(0, 20, dead=1)
    assert [t.attempt for t in worker.starts] == [1, 2]
    assert all(t.body == body and t.headers["X-Long"] == "v" * 1000 for t in worker.starts)
    stored, dead_body, _ = await ax.last("AX_DEAD", f"ax.dead.email.{reply['task']}")
    assert dead_body == body and stored["Ax-Reason"], stored
    # Without key and headers a bigger body fits, and through the other stages it goes as well.
    await ax.submit(b"y" * (fits + 1000), headers={"Ax-Max-Retry": "0"})
    await eventually(lambda: worker.starts[-1].body == b"y" * (fits + 1000), 10)
    after = {c["name"]: c["cid"] for c in await connections(ax)}
    for name, cid in ids.items():
        assert name not in after or after[name] == cid or not name.startswith("ax"), f"{name} lost its connection"
    for d in (ax.ingress, ax.dispatch):
        assert "Maximum Payload" not in d.log() and "disconnected" not in d.log().lower(), d.log()[-2000:]


async def connections(ax):
    with urllib.request.urlopen(f"http://127.0.0.1:{ax.monitor}/connz") as answer:
        return json.load(answer)["connections"]


run(test, max_payload=MAX)
