# Bad subjects and headers: each is refused with the field, the value and what is allowed; nothing is stored.
# ctest: timeout=120
# ctest: sanitize
import wire
from harness import Refused, run

GOOD = "ax.submit.high.email"
BAD = [
    # subject, header lines, words of the error
    ("ax.submit.urgent.email", b"", ["urgent"]),
    ("ax.submit.high.e$mail", b"", ["pool", "e$mail"]),
    ("ax.submit.hi!gh.email", b"", ["priority", "hi!gh"]),
    ("ax.submit.high.p\xc3\xb6\xc3\xb6l".encode("latin1").decode(), b"", ["pool"]),
    ("ax.submit.high." + "p" * 33, b"", ["pool", "32"]),
    ("ax.submit.high.email.more", b"", ["ax.submit"]),
    (GOOD, b"Ax-Max-Retry: many\r\n", ["Ax-Max-Retry", "many", "0 to 1000"]),
    (GOOD, b"Ax-Max-Retry: -1\r\n", ["Ax-Max-Retry", "-1"]),
    (GOOD, b"Ax-Max-Retry: 1001\r\n", ["Ax-Max-Retry", "1001"]),
    (GOOD, b"Ax-Max-Retry: 3.5\r\n", ["Ax-Max-Retry", "3.5"]),
    (GOOD, b"Ax-Max-Retry: 99999999999999999999\r\n", ["Ax-Max-Retry"]),
    (GOOD, b"Ax-Backoff: soon\r\n", ["Ax-Backoff", "soon", "30s"]),
    (GOOD, b"Ax-Backoff: -5s\r\n", ["Ax-Backoff"]),
    (GOOD, b"Ax-Backoff: 2h\r\n", ["Ax-Backoff", "1h"]),
    (GOOD, b"Ax-Expires: yesterday\r\n", ["Ax-Expires", "yesterday"]),
    (GOOD, b"Ax-Max-Retrys: 3\r\n", ["Ax-Max-Retrys", "Ax-Max-Retry"]),
    (GOOD, b"ax-key: a\r\n", ["ax-key", "Ax-Key"]),
    (GOOD, b"Ax-Attempt: 7\r\n", ["Ax-Attempt"]),
    (GOOD, b"Ax-Lease: $JS.ACK.x\r\n", ["Ax-Lease"]),
    (GOOD, b"nats-msg-id: a\r\n", ["Nats-Msg-Id"]),
    (GOOD, b"Ax-Key: a\r\nAx-Key: b\r\n", ["Ax-Key", "once"]),
    (GOOD, b"Nats-Msg-Id: a\r\nNats-Msg-Id: a\r\n", ["Nats-Msg-Id", "once"]),
    (GOOD, b"Ax-Max-Retry: 1\r\nAx-Max-Retry: 2\r\n", ["Ax-Max-Retry", "once"]),
    (GOOD, b"Nats-Msg-Id: a\r\nAx-Key: b\r\n", ["Nats-Msg-Id", "Ax-Key", "differ"]),
    (GOOD, b"Nats-Msg-Id: " + b"k" * 513 + b"\r\n", ["513", "512"]),
    (GOOD, b"Ax-Key: " + b"k" * 5000 + b"\r\n", ["5000", "512"]),
    (GOOD, b"Nats-Msg-Id: \r\n", []),
    (GOOD, b"Ax-Max-Retry:\r\n", []),
    (GOOD, b"no colon at all\r\n", []),
    (GOOD, b"Ax-Delay: 1s\r\nAx-At: 2030-01-01T00:00:00Z\r\n", ["Ax-Delay", "Ax-At"]),
    (GOOD, b"Ax-Delay: later\r\n", ["Ax-Delay", "later"]),
    (GOOD, b"Ax-At: noon\r\n", ["Ax-At", "noon"]),
    (GOOD, b"Ax-Schema: ax.v9.Task\r\n", ["Ax-Schema", "ax.v9.Task"]),
]


async def test(ax):
    await ax.pool("email")
    before = await ax.stream("AX_HIGH")
    for subject, header, words in BAD:
        reply = await wire.raw_request(ax.port, subject, header, b"body")
        error = reply.get("error")
        assert error, f"{subject} {header[:60]}: accepted as {reply}"
        assert error["code"] == 400 and error["err_code"] == 10003, (subject, header[:60], error)
        for word in words:
            assert word in error["description"], f"{subject} {header[:60]}: no {word!r} in {error['description']!r}"
        assert "stream" not in reply and "\n" not in error["description"], reply
    assert (await ax.stream("AX_HIGH"))["state"]["last_seq"] == before["state"]["last_seq"]
    assert await ax.unfinished() == 0

    # Headers that are not ours pass; those that command the server do not.
    worker = await ax.worker()
    reply = await wire.raw_request(ax.port, GOOD, b"Nats-Rollup: all\r\nNats-Expected-Stream: OTHER\r\nNats-TTL: 1s\r\n"
                                   b"Content-Type: text/plain\r\nX-Two: a\r\nX-Two: b\r\nNats-Msg-Id: fine\r\n", b"body")
    assert reply.get("stream") == "AX_HIGH", reply
    await ax.settled(1, 10)
    headers = worker.starts[0].headers
    assert headers["Content-Type"] == "text/plain" and "Nats-Rollup" not in headers and "Nats-TTL" not in headers, headers
    assert worker.starts[0].key == "fine"
    try:
        await ax.submit("x", headers={"Ax-Priority": "high"})
        raise AssertionError("Ax-Priority accepted")
    except Refused:
        pass


run(test)
