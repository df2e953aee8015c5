# A delayed task: accepted as `later`, visible there, its key refused while it waits, run at its time with all it was
# given, and known as done afterwards. By delay, by time, by `ax submit`, in both forms.
import json
import time

from harness import SLOW, Refused, eventually, own, run
from lateness import rfc3339
import wire


async def status(ax, *args):
    return json.loads(await ax.command(own("ax"), "status", "--json", *args, check=False))


async def test(ax):
    await ax.pool("email")
    await ax.pool("other")
    await ax.worker("other")
    wait = 4 * SLOW
    sent = time.monotonic()
    first = await ax.submit("body 1", "one",
                            headers={"Ax-Delay": f"{wait:g}s", "Ax-Max-Retry": "7", "X-Tenant": "seven"})
    assert first["state"] == "later" and first["stream"] == "AX_LATER" and first["duplicate"] is False, first
    headers, body, seq = await ax.last("AX_LATER", f"ax.later.high.email.{first['task']}")
    assert body == b"body 1" and seq == first["seq"] and headers["Nats-Schedule"].startswith("@at 20"), headers

    # The key waits: refused as a duplicate, delayed or not, and in protobuf; free in another pool.
    for extra in ({}, {"Ax-Delay": "1h"}, {"Ax-At": rfc3339(time.time() + 60)}):
        again = await ax.submit("body 2", "one", headers=extra)
        assert again["duplicate"] is True and again["state"] == "later", again
        assert (again["task"], again["stream"], again["seq"]) == (first["task"], "AX_LATER", first["seq"]), again
    msg = await ax.nc.request("ax.submit.high.email", wire.task(key="one", delay="5m"), timeout=10 * SLOW,
                              headers={"Ax-Schema": "ax.v1.Task"})
    assert json.loads(msg.data)["duplicate"] is True, msg.data
    elsewhere = await ax.submit("body", "one", pool="other")
    assert elsewhere["duplicate"] is False and elsewhere["state"] == "queued", elsewhere

    shown = await status(ax, "--pool", "email", "one")
    assert shown["state"] == "later" and shown["task"] == first["task"] and shown["key"] == "one", shown
    text = await ax.command(own("ax"), "status", first["task"])
    assert "later" in text and "next run" in text, text
    assert (await status(ax))["later"] == 1

    # An ingress that starts while the task waits knows the key as well.
    await ax.ingress.restart()
    again = await ax.submit("body 2", "one")
    assert again["duplicate"] is True and again["state"] == "later", again
    assert await ax.messages("AX_LATER") == 1 and await ax.messages("AX_HIGH") == 0

    worker = await ax.worker()
    await eventually(lambda: worker.starts, wait + 10, "the delayed task runs")
    late = worker.starts[0].started - sent - wait
    assert 0 <= late <= 1.5 * SLOW, f"started {late:.3f} s after its time"
    task = worker.starts[0]
    assert (task.id, task.key, task.body, task.attempt) == (first["task"], "one", b"body 1", 1), task.headers
    assert task.headers["Ax-Max-Retry"] == "7" and task.headers["X-Tenant"] == "seven", task.headers
    assert task.headers["Ax-Priority"] == "high", task.headers
    assert not [h for h in task.headers if h.startswith("Nats-") and h != "Nats-Msg-Id"], task.headers
    await ax.settled(2, 10)
    assert (await ax.submit("body 3", "one", headers={"Ax-Delay": "5m"}))["state"] == "done"
    assert (await status(ax, "--pool", "email", "one"))["state"] == "done"

    # By `ax submit`, by protobuf, keyless, with other priorities; a time that has passed is now.
    due = time.time() + 2 * SLOW
    by_cli = [("--delay", f"{2 * SLOW:g}s", "--priority", "low"), ("--at", rfc3339(due), "--priority", "normal")]
    for i, args in enumerate(by_cli):
        answer = json.loads(await ax.command(own("ax"), "submit", "--json", "--pool", "email", "--key", f"cli-{i}",
                                             *args, "by cli"))
        assert answer["state"] == "later", answer
    msg = await ax.nc.request("ax.submit.high.email", wire.task(body=b"proto", at=rfc3339(due)), timeout=10 * SLOW,
                              headers={"Ax-Schema": "ax.v1.Task"})
    assert json.loads(msg.data)["state"] == "later", msg.data
    passed = await ax.submit("now", "passed", headers={"Ax-At": "2001-02-03T04:05:06+02:00"})
    assert passed["state"] == "queued" and passed["stream"] == "AX_HIGH", passed
    await eventually(lambda: len(worker.starts) == 5, 15, "five tasks in all")
    assert sorted((t.body, t.priority) for t in worker.starts[1:]) == [
        (b"by cli", "low"), (b"by cli", "normal"), (b"now", "high"), (b"proto", "high")], worker.starts
    await ax.settled(6, 10)
    assert len(worker.starts) == 5, "a duplicate ran"

    # What is no delay; the descriptions name the header, the value and what is allowed.
    for header, value in (("Ax-Delay", "-5s"), ("Ax-Delay", "0s"), ("Ax-Delay", "1.5s"), ("Ax-Delay", "90"),
                          ("Ax-Delay", "366d"), ("Ax-Delay", "soon"), ("Ax-At", "2030-01-31T09:00:00"),
                          ("Ax-At", "2030-06-30T23:59:60Z"), ("Ax-At", "2030-02-30T09:00:00Z")):
        try:
            answer = await ax.submit("x", "bad", headers={header: value})
            raise AssertionError(f"{header}: {value} was taken: {answer}")
        except Refused as refused:
            assert refused.code == 400 and header in str(refused) and value in str(refused), str(refused)
            assert "must be" in str(refused), str(refused)
    assert await ax.messages("AX_LATER") == 0


run(test)
