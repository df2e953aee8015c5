# Ax-Expires: a task is never started after it. What waits in the queue past its time, or for a retry, becomes a dead
# letter with the reason `expired`; what could never start in time is refused at the door.
import asyncio
import json
import time

from harness import SLOW, Refused, eventually, own, run
from lateness import rfc3339


async def is_dead(ax, pool, task, attempt, key):
    found = await ax.last("AX_DEAD", f"ax.dead.{pool}.{task}")
    if found is None:
        return False
    headers, body, _ = found
    assert headers["Ax-Reason"] == "expired", headers
    assert headers["Ax-Attempt"] == str(attempt) and headers["Ax-Key"] == key and body == b"body", headers
    return True


async def test(ax):
    await ax.pool("email", {"backoff": f"{3 * SLOW:g}s"})
    await ax.pool("idle")

    # Refused: it has expired, or would before its delay is over.
    for headers, what in (({"Ax-Expires": "2001-02-03T04:05:06Z"}, "2001-02-03T04:05:06.000000000Z is not"),
                          ({"Ax-Expires": "1s", "Ax-Delay": "2s"}, "is not after"),
                          ({"Ax-Expires": rfc3339(time.time() + 5), "Ax-At": rfc3339(time.time() + 9)}, "is not after"),
                          ({"Ax-Expires": "0s"}, "must be"), ({"Ax-Expires": "-1s"}, "must be")):
        try:
            answer = await ax.submit("body", "bad", headers=headers)
            raise AssertionError(f"{headers} was taken: {answer}")
        except Refused as refused:
            assert refused.code == 400 and "Ax-Expires" in str(refused) and what in str(refused), str(refused)

    # Waits in the queue past its time: no worker asks for it. The one beside it has time enough.
    lasts = SLOW
    queued = await ax.submit("body", "queued", pool="idle", headers={"Ax-Expires": f"{lasts:g}s"})
    by_time = await ax.submit("body", "by time", pool="idle", headers={"Ax-Expires": rfc3339(time.time() + lasts)})
    delayed = await ax.submit("body", "delayed", pool="idle", headers={"Ax-Delay": f"{lasts * 500:.0f}ms",
                                                                      "Ax-Expires": f"{lasts:g}s"})
    lively = await ax.submit("body", "lively", pool="idle", headers={"Ax-Expires": "10m"})
    assert [a["state"] for a in (queued, by_time, delayed, lively)] == ["queued", "queued", "later", "queued"]
    over = time.time() + lasts
    await eventually(lambda: at_least(ax, 4, "AX_HIGH"), 10, "the delayed one is in the queue, too")
    await asyncio.sleep(max(0.0, over + 0.2 - time.time()))
    assert await ax.messages("AX_DEAD") == 0
    worker = await ax.worker("idle")
    for answer, key in ((queued, "queued"), (by_time, "by time"), (delayed, "delayed")):
        await eventually(lambda a=answer, k=key: is_dead(ax, "idle", a["task"], 1, k), 15, f"{key} is a dead letter")
    await eventually(lambda: worker.finished, 10, "the lively one runs")
    assert [t.key for t in worker.starts] == ["lively"], "an expired task was started"
    assert worker.starts[0].headers["Ax-Expires"].endswith("Z"), worker.starts[0].headers

    # Waits for a retry past its time: the first attempt starts, the second does not.
    async def handler(task):
        return "nak" if task.key == "retry" else None

    failing = await ax.worker(handler=handler)
    retry = await ax.submit("body", "retry", headers={"Ax-Expires": f"{2 * SLOW:g}s", "Ax-Max-Retry": "5"})
    in_time = await ax.submit("body", "in time", headers={"Ax-Expires": f"{2 * SLOW:g}s"})
    await eventually(lambda: is_dead(ax, "email", retry["task"], 2, "retry"), 25, "the retry is a dead letter")
    assert sorted(t.key for t in failing.starts) == ["in time", "retry"], [t.key for t in failing.starts]
    await ax.settled(2, 10, dead=4)

    # It is like any dead letter: the key is known, and the operator sees why.
    again = await ax.submit("body", "retry")
    assert again["duplicate"] is True and again["state"] == "dead", again
    listed = await ax.command(own("ax"), "dead", "ls", "--json")
    assert listed.count("expired") == 4, listed
    shown = json.loads(await ax.command(own("ax"), "status", "--json", in_time["task"]))
    assert shown["state"] == "done", shown


async def at_least(ax, count, *streams):
    return await ax.messages(*streams) >= count


run(test)
