"""What each ack must lead to; shared by the tests of both forms of ack subjects."""
import asyncio
import time

from harness import SLOW, eventually


async def acks(ax, already_done=0):
    await ax.pool("email", {"backoff": "400ms", "max_retry": 3})
    runs = {}

    async def handler(task):
        runs.setdefault(task.key, []).append(task)
        n = task.attempt
        assert task.delivered == 1, "a hand-off was delivered twice"
        if task.key == "nak" and n == 1:
            return "nak"
        if task.key == "delayed" and n == 1:
            return "nak", 1.5
        if task.key == "term":
            return "term", "no such address"
        if task.key == "bare term":
            return "term"
        return "ack"

    worker = await ax.worker(handler=handler)
    began = time.monotonic()
    for key in ("ack", "nak", "delayed", "term", "bare term"):
        await ax.submit(f"body of {key}", key, headers={"traceparent": "00-ab-cd-01", "X-Tenant": "seven"})
    await ax.settled(already_done + 3, 20, dead=2)

    assert {k: len(v) for k, v in runs.items()} == {"ack": 1, "nak": 2, "delayed": 2, "term": 1, "bare term": 1}
    for key, tasks in runs.items():
        assert [t.attempt for t in tasks] == list(range(1, len(tasks) + 1)), key
        assert all(t.body == f"body of {key}".encode() and t.headers["traceparent"] == "00-ab-cd-01"
                   and t.headers["X-Tenant"] == "seven" and t.priority == "high" and t.id == tasks[0].id
                   for t in tasks), (key, tasks[0].headers)
        assert all(a.fence < b.fence for a, b in zip(tasks, tasks[1:])), f"{key}: the fence did not grow"
    # Backoff 400 ms ±10%, the delay asked for 1.5 s; schedules may be half a second late, never early.
    gap = runs["nak"][1].started - runs["nak"][0].ended
    assert 0.35 <= gap <= 0.45 + 0.6 * SLOW, f"nak: next attempt after {gap:.2f} s"
    gap = runs["delayed"][1].started - runs["delayed"][0].ended
    assert 1.49 <= gap <= 1.5 + 0.6 * SLOW, f"nak with delay: next attempt after {gap:.2f} s"

    headers, body, _ = await ax.last("AX_DEAD", f"ax.dead.email.{runs['term'][0].id}")
    assert body == b"body of term" and "no such address" in headers["Ax-Reason"], headers
    assert headers["Ax-Key"] == "term" and headers["Ax-Attempt"] == "1" and headers["X-Tenant"] == "seven", headers
    assert headers["Ax-Died"].endswith("Z"), headers
    headers, _, _ = await ax.last("AX_DEAD", f"ax.dead.email.{runs['bare term'][0].id}")
    assert headers["Ax-Reason"] and "\n" not in headers["Ax-Reason"], headers
    for key in ("ack", "nak", "delayed"):
        assert await ax.record(runs[key][0].id), f"{key}: no record"
    assert time.monotonic() - began < 20 * SLOW
    assert len(worker.starts) == 7


async def progress(ax):
    """In-progress for longer than ack_wait keeps the attempt."""
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=2)

    async def handler(task):
        for _ in range(14):
            await asyncio.sleep(0.5)
            await task.progress()

    worker = await ax.worker(handler=handler, pulls=4)
    for i in range(3):
        await ax.submit("x", f"long-{i}")
    await ax.settled(3, 25)
    assert len(worker.starts) == 3, [(t.key, t.attempt) for t in worker.starts]
    took = [t.ended - t.started for t in worker.starts]
    assert min(took) >= 7, took


async def silence(ax):
    """No ack within ack_wait: the next attempt after the backoff, with its own, higher limit; a late ack counts."""
    await ax.pool("email", {"backoff": "100ms", "max_retry": 0, "max_timeouts": 2}, ack_wait=2)
    late = {}

    async def handler(task):
        if task.key == "once" and task.attempt == 1:
            return "silence"
        if task.key == "always":
            return "silence"
        if task.key == "late" and "late" not in late:
            late["late"] = task
            return "silence"

    worker = await ax.worker(handler=handler, pulls=4)
    for key in ("once", "always"):
        await ax.submit("x", key)
    await ax.settled(1, 40, dead=1)
    runs = {k: [t for t in worker.starts if t.key == k] for k in ("once", "always")}
    assert len(runs["once"]) == 2, "a death of its worker is no failure of the task: max_retry 0 must not matter"
    assert len(runs["always"]) == 3, f"{len(runs['always'])} runs, 1 + max_timeouts 2 wanted"
    for tasks in runs.values():
        gaps = [b.started - a.started for a, b in zip(tasks, tasks[1:])]
        assert all(1.9 <= g <= 2 + 5 * SLOW for g in gaps), gaps
        assert all(a.fence < b.fence for a, b in zip(tasks, tasks[1:]))
    headers, _, _ = await ax.last("AX_DEAD", f"ax.dead.email.{runs['always'][0].id}")
    assert headers["Ax-Key"] == "always" and headers["Ax-Reason"], headers

    # A worker that was taken for dead acks after all: recorded, and the retry is dropped before its start.
    await ax.pool("email", {"backoff": "8s", "max_retry": 0}, ack_wait=2)
    await ax.submit("x", "late")
    await eventually(lambda: ax.messages("AX_LATER"), 15, "the time-out was declared and the retry waits")
    await eventually(lambda: late, 1)
    await worker.nc.publish(late["late"].msg.reply, b"")
    await ax.settled(2, 30, dead=1)
    assert len([t for t in worker.starts if t.key == "late"]) == 1, "the retry ran although the first attempt finished"
