# A task may have a header Status, as HTTP's: AX's programs never take it for a status of the server. With such tasks waiting,
# running and dead the daemons start, work goes on, and `ax dead ls` shows all of them.
# ctest: timeout=90
import asyncio
import json

from harness import eventually, own, run

STATUSES = ("503", "204", "404", "100", "408", "no number")


async def test(ax):
    await ax.pool("email", {"max_retry": 0})
    await ax.pool("sms")
    for i, status in enumerate(STATUSES):
        await ax.submit("dies", f"dies-{i}", headers={"Status": status})
        await ax.submit("later", f"later-{i}", headers={"Status": status, "Ax-Delay": "1h"})
        # A bad submission that nobody is told of, with no body. (503 would be one that nats.c keeps to itself.)
        if status != "503":
            await ax.nc.publish("ax.submit.high.email", b"", headers={"Status": status, "Nats-Msg-Id": f"bad-{i}"})

    async def handler(task):
        return "term" if task.body == b"dies" else "ack"
    worker = await ax.worker(handler=handler)
    await eventually(lambda: len(worker.starts) == len(STATUSES), 20, "all run")
    assert sorted(t.headers["Status"] for t in worker.starts) == sorted(STATUSES)

    async def listed():
        text = await ax.command(own("ax"), "dead", "ls", "--json")
        letters = json.loads(text)
        return len(letters) == 2 * len(STATUSES) - 1 and letters
    await eventually(listed, 20, "all dead letters are listed")
    await worker.stop()

    for i, status in enumerate(STATUSES):
        await ax.submit("waits", f"waits-{i}", headers={"Status": status})
    holder = await ax.worker(handler=lambda task: asyncio.Event().wait(), pulls=len(STATUSES))
    await eventually(lambda: len(holder.starts) == len(STATUSES), 20, "all are held")
    for daemon in (ax.ingress, ax.dispatch):
        daemon.kill()
        await daemon.restart(hard=False)
    assert (await ax.submit("later", "later-0"))["duplicate"], "what waits is known after the restart"
    await ax.submit("x", "other", pool="sms")
    other = await ax.worker("sms")
    await eventually(lambda: len(other.starts) == 1, 20, "another pool works")
    await eventually(lambda: ax.dispatch.metric('ax_inflight{pool="email"}') == len(STATUSES), 20, "those held are adopted")


run(test)
