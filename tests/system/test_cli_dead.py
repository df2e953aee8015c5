# ax dead (ls, show, retry, drop) and ax pool (add, set, ls), and what they say when something is in the way.
# ctest: sanitize=address
import asyncio
import calendar
import json
import re
import time

from cli import cli, good
from harness import eventually, run


async def dead_letters(ax, *args):
    return json.loads(await good(ax, "dead", "ls", "--json", *args))


async def pools(ax):
    await good(ax, "pool", "add", "email", "rate=50", "burst=7")
    assert json.loads((await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.email"))[1]) == {"rate": 50, "burst": 7}
    for stream in ("AX_WORK", "AX_HIGH", "AX_NORMAL", "AX_LOW"):
        await ax.consumer(stream, "email")
    await good(ax, "pool", "set", "email", "rate=0", "backoff=100ms")
    assert json.loads((await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.email"))[1]) == {"burst": 7, "backoff": "100ms"}
    await good(ax, "pool", "set", "email", "burst=100")
    await good(ax, "pool", "add", "other")

    listed = {p["pool"]: p for p in json.loads(await good(ax, "pool", "ls", "--json"))}
    assert set(listed) >= {"email", "other"}, listed
    assert listed["email"]["settings"] == {"burst": 100, "backoff": "100ms"}, listed
    assert listed["email"]["ack_wait_ms"] == 30000 and listed["email"]["queues"]["high"]["unfinished"] == 0, listed
    assert re.fullmatch(r"[A-Za-z0-9_-]+", listed["email"]["leader"]), listed
    table = (await good(ax, "pool", "ls")).splitlines()
    # In three tables: what moves, who leads, what is set.
    load, setup, settings = "\n".join(table).split("\n\n")
    assert [t.split()[0] for t in load.splitlines()].count("email") == 1, load
    assert listed["email"]["leader"] in next(t for t in setup.splitlines() if t.startswith("email ")), setup
    assert '"backoff":"100ms"' in next(t for t in settings.splitlines() if t.startswith("email ")), settings
    assert table[0].split()[:4] == ["pool", "high", "normal", "low"], table

    for wrong, code, text in ((["add", "email"], 1, "there already"), (["set", "nowhere", "rate=1"], 1, "not there"),
                              (["add", "a b"], 2, "a b"), (["add", "x", "rate=-1"], 2, "rate"),
                              (["set", "email", "speed=1"], 2, "speed"), (["set", "email", "rate"], 2, "rate=50")):
        got, out, err = await cli(ax, "pool", *wrong)
        assert got == code and text in err and err.count("\n") == 1 and not out, (wrong, got, err)
    # An operator's concurrent change is not overwritten: both end up there.
    await asyncio.gather(good(ax, "pool", "set", "other", "rate=3"), good(ax, "pool", "set", "other", "batch=4"))
    assert json.loads((await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.other"))[1]) == {"rate": 3, "batch": 4}
    await ax.put_pool("other", "{broken")
    got, out, err = await cli(ax, "pool", "set", "other", "rate=3")
    assert got == 1 and "not readable" in err, err


async def test(ax):
    await pools(ax)

    outcome = {"answer": ("term", "no such address")}

    async def handler(task):
        return outcome["answer"]
    worker = await ax.worker("email", handler)
    for i in range(3):
        await ax.submit(f"body {i}", f"key {i}", "high", headers={"X-Trace": f"t{i}"})
    keyless = (await ax.submit("fails", None, "low", headers={"Ax-Max-Retry": "1", "Ax-Expires": "10m"}))["task"]
    await ax.settled(0, dead=4)

    listed = await dead_letters(ax)
    # In the order in which they died: the worker has them all at once.
    assert sorted(d["key"] for d in listed if d["key"]) == ["key 0", "key 1", "key 2"], listed
    assert [d["seq"] for d in listed] == sorted(d["seq"] for d in listed), listed
    assert all("no such address" in d["reason"] and d["pool"] == "email" and d["died"] for d in listed), listed
    assert len(await dead_letters(ax, "--limit", "2")) == 2
    await good(ax, "pool", "add", "elsewhere")
    assert await dead_letters(ax, "elsewhere") == [] and len(await dead_letters(ax, "email")) == 4
    assert (await good(ax, "dead", "ls")).count("\n") == 5

    one = next(d for d in listed if d["key"] == "key 1")
    shown = json.loads(await good(ax, "dead", "show", "--json", one["task"]))
    assert shown["body"] == "body 1" and shown["headers"] == {"X-Trace": "t1"}, shown
    assert json.loads(await good(ax, "dead", "show", "--pool", "email", "--json", "key 1"))["task"] == one["task"]
    text = await good(ax, "dead", "show", one["task"])
    assert "no such address" in text and "body 1" in text, text
    code, out, err = await cli(ax, "dead", "show", "unheard")
    assert code == 1 and "unheard" in err and err.count("\n") == 1, err
    assert json.loads(await good(ax, "status", "--json", one["task"]))["state"] == "dead"

    # Full queue: said, and the letter stays.
    await worker.stop()
    ax.workers.clear()
    await ax.edit_stream("AX_LOW", max_msgs=1)
    await ax.submit("fills it", "filler", "low", "nobody")
    code, out, err = await cli(ax, "dead", "retry", keyless)
    assert code == 75 and "full" in err and len(await dead_letters(ax)) == 4, (code, err)
    await ax.edit_stream("AX_LOW", max_msgs=1000)

    # One, under its key's id, as attempt 1; then it succeeds and leaves nothing behind.
    outcome["answer"] = "ack"
    await good(ax, "dead", "retry", one["task"])
    assert one["task"] not in [d["task"] for d in await dead_letters(ax)]
    status = json.loads(await good(ax, "status", "--json", one["task"]))
    # Handed over already perhaps, to a pull the stopped worker left behind.
    assert status["state"] in ("queued", "running") and status["attempt"] == 1, status
    worker = await ax.worker("email", handler)
    await eventually(lambda: is_done(ax, one["task"]), 20, "the retried task is done")
    assert worker.starts[0].body == b"body 1" and worker.starts[0].attempt == 1, worker.starts
    assert worker.starts[0].headers["X-Trace"] == "t1"

    # Dropped, and the rest all at once.
    zero = next(d for d in listed if d["key"] == "key 0")
    assert zero["task"] in await good(ax, "dead", "drop", zero["task"])
    assert (await good(ax, "dead", "retry", "--all", "--pool", "elsewhere")) == \
        "0 dead letters queued again\n"
    assert (await good(ax, "dead", "retry", "--all", "--pool", "email")) == "2 dead letters queued again\n"
    await eventually(lambda: empty(ax), 10, "no dead letters left")
    await eventually(lambda: done_are(ax, 3), 20, "the retried tasks are done")
    assert sorted(t.body for t in worker.starts) == [b"body 1", b"body 2", b"fails"], worker.starts

    # A letter whose task is in its queue again already (a retry that died half-way): it only goes away.
    await worker.stop()
    ax.workers.clear()
    await ax.submit("twice", "twice", "high")
    task = (await ax.submit("twice", "twice", "high"))["task"]
    await ax.js.publish(f"ax.dead.email.{task}", b"twice", headers={"Ax-Priority": "high", "Ax-Key": "twice"})
    await good(ax, "dead", "retry", task)
    assert await empty(ax) and (await ax.subjects("AX_HIGH")) == {f"ax.queue.high.email.{task}": 1}

    # A letter whose attempt is only just being released (dispatch died after writing it): deleting it would lose the
    # task.
    subject = f"ax.queue.high.email.{task}"
    reply = await ax.nc.request("$JS.API.STREAM.MSG.GET.AX_HIGH", json.dumps({"last_by_subj": subject}).encode())
    there = json.loads(reply.data)["message"]
    seconds, _, fraction = there["time"].rstrip("Z").partition(".")
    ns = calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction.ljust(9, "0") or 0)
    await ax.js.publish(f"ax.dead.email.{task}", b"twice", headers={
        "Ax-Priority": "high", "Ax-Key": "twice", "Nats-Msg-Id": f"{task}.AX_HIGH.{there['seq']}.{ns}.dead"})
    code, out, err = await cli(ax, "dead", "retry", task)
    assert code == 75 and "released" in err and len(await dead_letters(ax)) == 1, (code, out, err)
    assert (await ax.subjects("AX_HIGH")) == {subject: 1}
    await ax.js.delete_msg("AX_HIGH", there["seq"])
    await good(ax, "dead", "retry", task)
    assert await empty(ax) and (await ax.subjects("AX_HIGH")) == {subject: 1}

    # A letter of a priority that is no more: named, kept, and put elsewhere on demand.
    await ax.js.publish("ax.dead.email.lost1", b"lost", headers={"Ax-Priority": "urgent"})
    code, out, err = await cli(ax, "dead", "retry", "lost1")
    assert code == 1 and "urgent" in err and len(await dead_letters(ax)) == 1, (code, err)
    await good(ax, "dead", "retry", "lost1", "--priority", "low")
    assert await empty(ax) and "ax.queue.low.email.lost1" in await ax.subjects("AX_LOW")
    await ax.js.publish("ax.dead.email.x1", b"")
    await ax.js.publish("ax.dead.email.x2", b"")
    assert (await good(ax, "dead", "drop", "--all")) == "2 dead letters dropped\n" and await empty(ax)


async def is_done(ax, task):
    return await ax.record(task) is not None


async def done_are(ax, n):
    return await ax.done() == n


async def empty(ax):
    return await ax.messages("AX_DEAD") == 0


run(test)
