# A nak may ask for any delay: the longest is 365 days, a negative one is none, and what is no whole number leaves the
# time to the backoff, as with the server.
import time
from datetime import datetime

from harness import eventually, run

DAY = 24 * 3600
LONGEST = {b'{"delay":9223372036854775807}': "max", b'{"delay":31536000000000001}': "a year and a bit",
           b"2500000h": "in words"}
AT_ONCE = {b'{"delay":-9223372036854775808}': "negative", b'{"delay":0}': "none"}
BACKOFF = {b'{"delay":1.5}': "fraction", b'{"delay":9223372036854775808}': "more than there is", b"soon": "no number"}


async def test(ax):
    await ax.pool("email", {"backoff": "1s"})
    words = {key: word for table in (LONGEST, AT_ONCE, BACKOFF) for word, key in table.items()}
    first = {}

    async def handler(task):
        if task.attempt > 1:
            return "ack"
        first[task.key] = task
        await worker.nc.publish(task.msg.reply, b"-NAK " + words[task.key])
        return "silence"

    worker = await ax.worker(handler=handler, pulls=4)
    for key in words:
        await ax.submit("x", key)
    others = set(words) - set(LONGEST.values())
    await eventually(lambda: {t.key for t in worker.starts if t.attempt == 2} == others, 15, "the short ones, once more")
    gaps = {t.key: t.started - first[t.key].started for t in worker.starts if t.attempt == 2}
    for key in AT_ONCE.values():
        assert gaps[key] < gaps["fraction"], gaps
    for key in BACKOFF.values():
        assert gaps[key] > 0.85, gaps
    for key in LONGEST.values():
        headers, _, _ = await ax.last("AX_LATER", f"ax.later.high.email.{first[key].id}")
        due = datetime.fromisoformat(headers["Nats-Schedule"][4:23] + "+00:00").timestamp()
        assert 364.9 * DAY < due - time.time() <= 365 * DAY + 60, (key, headers)
    assert await ax.messages("AX_LATER") == len(LONGEST)
    assert {t.key for t in worker.starts if t.attempt == 2} == others


run(test)
