# ax submit --cron and ax cron: ls, show, pause, resume, rm, run-now, and replacing a schedule by submitting it again.
# ctest: timeout=150
# ctest: timed
import asyncio
import json

from cli import cli, good
from harness import eventually, run


async def bad(ax, words, *args, code=1):
    ended, out, err = await cli(ax, *args)
    assert ended == code, f"ax {args} ended with {ended}: {out} {err}"
    for word in words:
        assert word in err, f"ax {args}: no {word!r} in {err!r}"


async def schedules(ax, *args):
    return {s["key"]: s for s in json.loads(await good(ax, "cron", "ls", "--json", *args))}


async def submit(ax, key, cron, *args):
    return json.loads(await good(ax, "submit", "--pool", "email", "--priority", "high", "--key", key, "--cron", cron,
                                 "--json", *args))


async def test(ax):
    await ax.pool("email")
    await ax.pool("other")
    reply = await submit(ax, "nightly", "0 30 2 * * *", "--time-zone", "Europe/Zurich", "--timeout", "5m", "body")
    assert reply["state"] == "later" and not reply["duplicate"], reply
    for i in range(30):
        await ax.submit("x", f"delayed-{i}", headers={"Ax-Delay": "1h"})
    await ax.submit("x", "hourly", pool="other", headers={"Ax-Cron": "@hourly", "Ax-Overlap": "queue"})

    # ls and show
    listed = await schedules(ax)
    assert set(listed) == {"nightly", "hourly"}, listed
    nightly = listed["nightly"]
    assert nightly == {**nightly, "id": reply["task"], "pool": "email", "priority": "high", "cron": "0 30 2 * * *",
                       "time_zone": "Europe/Zurich", "overlap": "skip", "paused": False, "seq": reply["seq"]}, nightly
    assert listed["hourly"]["overlap"] == "queue" and listed["hourly"]["time_zone"] is None, listed
    assert set(await schedules(ax, "--pool", "other")) == {"hourly"}
    table = await good(ax, "cron", "ls")
    assert "nightly" in table and "@hourly" in table and "delayed" not in table, table
    shown = json.loads(await good(ax, "cron", "show", "nightly", "--pool", "email", "--json"))
    assert shown["last_task"] is None and shown["bytes"] == 4, shown
    assert "Europe/Zurich" in await good(ax, "cron", "show", reply["task"])
    await bad(ax, ["nobody", "email"], "cron", "show", "nobody", "--pool", "email")
    await bad(ax, ["delayed-1"], "cron", "rm", "delayed-1", "--pool", "email")
    await bad(ax, ["did you mean pause?"], "cron", "stop", "nightly", code=2)
    await bad(ax, ["--wait"], "submit", "--cron", "@hourly", "--key", "k", "--wait", "x", code=2)
    await bad(ax, ["six fields"], "submit", "--cron", "* * * *", "--key", "k", "x", code=2)
    await bad(ax, ["IANA"], "submit", "--cron", "0 9 * * *", "--time-zone", "Local", "--key", "k", "x",
              code=2)

    # The same again changes nothing; another one replaces it, also in another queue.
    again = await submit(ax, "nightly", "0 30 2 * * *", "--time-zone", "Europe/Zurich", "--timeout", "5m", "body")
    assert again["duplicate"] is True and again["seq"] == reply["seq"], again
    replaced = await submit(ax, "nightly", "0 45 2 * * *", "body")
    assert replaced["duplicate"] is False and replaced["task"] == reply["task"], replaced
    listed = await schedules(ax)
    assert listed["nightly"]["cron"] == "0 45 2 * * *" and listed["nightly"]["time_zone"] is None, listed
    await ax.submit("body", "nightly", "low", headers={"Ax-Cron": "0 45 2 * * *"})
    stored = [s for s in await ax.subjects("AX_LATER") if s.endswith(reply["task"])]
    assert stored == [f"ax.later.low.email.{reply['task']}"], stored
    # An ordinary task of that key is a duplicate while the schedule is there.
    plain = await ax.submit("x", "nightly", "low")
    assert plain["duplicate"] is True and plain["state"] == "later", plain

    # run-now
    worker = await ax.worker(pulls=2)
    fired = json.loads(await good(ax, "cron", "run-now", "nightly", "--pool", "email", "--json"))
    assert fired["state"] == "fired" and len(fired["task"]) == 32, fired
    task = await eventually(lambda: worker.starts and worker.starts[0], 10, "run-now runs")
    assert task.id == fired["task"] and task.key.startswith("nightly@20") and task.body == b"body", task.headers
    await eventually(lambda: ax.record(task.id), 10, "it is done")
    shown = json.loads(await good(ax, "cron", "show", "nightly", "--pool", "email", "--json"))
    assert shown["last_task"] == task.id and shown["last_fired"], shown
    assert set(await schedules(ax)) == {"nightly", "hourly"}

    # pause: nothing fires, also after it was submitted again; resume.
    await submit(ax, "beat", "@every 1s", "tick")
    await eventually(lambda: beats(worker, 2), 15, "it fires")
    assert "paused" in await good(ax, "cron", "pause", "beat", "--pool", "email")
    assert "paused" in await good(ax, "cron", "pause", "beat", "--pool", "email")
    assert (await schedules(ax))["beat"]["paused"] is True
    again = await submit(ax, "beat", "@every 2s", "tick")
    assert again["duplicate"] is False, again
    beat = (await schedules(ax))["beat"]
    assert beat["paused"] is True and beat["cron"] == "@every 2s", beat
    await eventually(lambda: fed(ax), 10, "what had fired before is fed")
    count, last = len(beats(worker, 0)), (await ax.stream("AX_LATER"))["state"]["last_seq"]
    await asyncio.sleep(3)  # the time in which it would have fired
    assert len(beats(worker, 0)) == count and (await ax.stream("AX_LATER"))["state"]["last_seq"] == last
    await good(ax, "cron", "run-now", "beat", "--pool", "email")
    await eventually(lambda: beats(worker, count + 1), 10, "run-now fires a paused one")
    assert "active" in await good(ax, "cron", "resume", "beat", "--pool", "email")
    assert (await schedules(ax))["beat"]["paused"] is False
    await eventually(lambda: beats(worker, count + 3), 15, "it fires again")

    # rm: gone, and its key is free.
    assert "removed" in await good(ax, "cron", "rm", "beat", "--pool", "email")
    await bad(ax, ["beat"], "cron", "rm", "beat", "--pool", "email")
    assert "beat" not in await schedules(ax)
    await eventually(lambda: fed(ax), 10, "what had fired before is fed")
    last = (await ax.stream("AX_LATER"))["state"]["last_seq"]
    await asyncio.sleep(3)  # the time in which it would have fired
    assert (await ax.stream("AX_LATER"))["state"]["last_seq"] == last
    plain = await ax.submit("x", "beat")
    assert plain["duplicate"] is False and plain["state"] == "queued", plain
    ids = [t.id for t in worker.starts]
    assert len(set(ids)) == len(ids), "a firing ran twice"


def beats(worker, at_least):
    found = [t for t in worker.starts if (t.key or "").startswith("beat@")]
    return found if len(found) >= at_least else None


async def fed(ax):
    return not [s for s in await ax.subjects("AX_LATER") if s.startswith("ax.due.")]


run(test, ingress=2)
