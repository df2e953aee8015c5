# The daemons are nobody's deputy: a producer that may only submit names subjects of streams, buckets and the API as its
# reply subject, as does whoever asks to cancel, for a record or for figures. Nothing is written there, and everybody
# else's tasks, keys and settings stay what they were.
# ctest: timeout=120
# ctest: sanitize=address
import asyncio
import hashlib
import json

import wire
from harness import eventually
from security import run
from test_permissions import as_role, prepare, start

BATCH = {"Ax-Schema": "ax.v1.TaskBatch"}
STREAMS = ("AX_HIGH", "AX_NORMAL", "AX_LOW", "AX_WORK", "AX_LATER", "AX_SPILL", "AX_DEAD", "AX_EVENTS", "KV_AX_DONE",
           "KV_AX_POOLS")


def task_id(pool, key):
    return hashlib.sha256(pool.encode() + b"\0" + key.encode()).hexdigest()[:32]


OWNERS = task_id("sms", "owners")  # a key of another team
NASTY = [f"$KV.AX_DONE.{OWNERS}", f"ax.later.high.sms.{OWNERS}", f"ax.due.high.sms.{OWNERS}", f"ax.queue.high.sms.{OWNERS}",
         f"ax.spill.high.sms.{OWNERS}", f"ax.work.sms.{OWNERS}", f"ax.dead.sms.{OWNERS}", "$KV.AX_POOLS.email",
         "$KV.AX_POOLS.new", "$KV.AX_LEASES.sms", "$JS.API.STREAM.DELETE.AX_NORMAL", "$JS.API.STREAM.PURGE.KV_AX_DONE",
         "$JS.EVENT.ADVISORY.STREAM.DELETED.AX_WORK", "ax.acked.sms", "ax.revoke.sms.1", "ax.submit.high.sms",
         "_INBOX_dispatch.x.0-0", "_INBOX_ingress.x.0-0", "_INBOX", "_INBOX_else.x", "x" * 300]


MEANWHILE = {task_id("sms", f"meanwhile {n}") for n in range(10000)}


def is_others(subject):
    """Of the tasks that go on meanwhile, and their records."""
    return subject.split(".")[-1] in MEANWHILE or subject.startswith("$KV.AX_DONE.page.")


async def contents(ax):
    """What is stored, by stream and subject, and every stream's creation."""
    return {name: ((await ax.stream(name))["created"],
                   {s: n for s, n in (await ax.subjects(name)).items() if not is_others(s)}) for name in STREAMS}


async def refused(ax, daemon, at_least):
    await eventually(lambda: daemon.metric(f"{daemon.checked.replace('-', '_')}_replies_refused_total") >= at_least, 10,
                     f"{daemon.checked} counts what it did not answer")


async def submissions(ax, producer):
    """All kinds of answers: accepted, known, batch, invalid, unreadable."""
    before = await contents(ax)
    for i, reply in enumerate(NASTY):
        await producer.publish("ax.submit.normal.email", b"x", reply=reply, headers={"Nats-Msg-Id": f"n{i}"})
        await producer.publish("ax.submit.normal.email", b"x", reply=reply, headers={"Nats-Msg-Id": "known"})
        await producer.publish("ax.submit.normal.email", b"x", reply=reply, headers={"Ax-Delay": "never"})
        await producer.publish("ax.submit.normal.email", b"\xff", reply=reply, headers=BATCH)
        await producer.publish("ax.submit.normal.email", wire.batch([wire.task(body="b", key=f"b{i}")]), reply=reply,
                               headers=BATCH)
    await producer.publish("ax.submit.normal.email", b"x", headers={"Nats-Msg-Id": "last"})
    await refused(ax, ax.ingress, 5 * len(NASTY))

    async def stored():
        now = await contents(ax)
        assert now["AX_NORMAL"][1].keys() - before["AX_NORMAL"][1].keys() == {
            f"ax.queue.normal.email.{task_id('email', key)}"
            for key in ["known", "last", *(f"{k}{i}" for k in "nb" for i in range(len(NASTY)))]}
        assert sum(now["AX_DEAD"][1].values()) == 2 * len(NASTY), now["AX_DEAD"]  # as without a reply subject
        assert all(s.startswith("ax.dead.email.") for s in now["AX_DEAD"][1])
        return now
    now = await eventually(stored, 15)
    for name in before:
        assert now[name][0] == before[name][0], f"{name} was created anew"
        assert name in ("AX_NORMAL", "AX_DEAD") or now[name] == before[name], (name, before[name], now[name])
    assert ax.ingress.log().count("reply subject is no inbox, not answered") == 1, "once a minute"


async def requests(ax, victim):
    """Cancel, record and figures, of somebody who may ask for them."""
    before, counted = await contents(ax), ax.ingress.metric("ax_ingress_replies_refused_total")
    for reply in NASTY:
        await ax.nc.publish("ax.figures", b"", reply=reply)
        await ax.nc.publish(f"ax.record.{victim}", b"", reply=reply)
        await ax.nc.publish(f"ax.cancel.sms.{'0' * 32}", b"", reply=reply)
    await refused(ax, ax.ingress, counted + 2 * len(NASTY))
    await refused(ax, ax.dispatch, 2 * len(NASTY))
    assert (await ax.nc.request("ax.record." + victim, b"", timeout=10)).data, "others are answered"
    assert json.loads((await ax.nc.request(f"ax.cancel.sms.{'0' * 32}", b"", timeout=10)).data)["state"] == "unknown"
    assert await contents(ax) == before


async def test(ax):
    problems, runs = [], []
    for role in ("ingress", "dispatch"):
        await start(ax, role).ready()
    producer = await as_role(ax, "producer", problems)  # of email; what is of sms comes from another connection
    await ax.pool("email", {"rate": 1, "paused": True})
    await ax.pool("sms")
    await ax.submit("x", "done already", pool="sms")

    async def handler(task):
        runs.append((task.key, task.body))

    await ax.worker("sms", handler)
    await eventually(lambda: runs == [("done already", b"x")], 15)
    await eventually(lambda: ax.recorded(), 10)

    # Another pool works on meanwhile, each task within a second.
    loop, worst = asyncio.get_running_loop(), 0.0
    nasty = asyncio.create_task(submissions(ax, producer))
    while not nasty.done():
        began, n = loop.time(), len(runs)
        await ax.submit("y", f"meanwhile {n}", pool="sms")
        await eventually(lambda: len(runs) > n, 10)
        worst = max(worst, loop.time() - began)
    await nasty
    print(f"other pool: {len(runs)} tasks, {worst * 1000:.0f} ms at most")
    await requests(ax, task_id("sms", "done already"))

    # The owner's key is free: its task runs, once.
    answer = await ax.submit("mine", "owners", pool="sms")
    assert answer["duplicate"] is False and answer["task"] == OWNERS, answer
    await eventually(lambda: ("owners", b"mine") in runs, 10)
    assert [r for r in runs if r[0] == "owners"] == [("owners", b"mine")]

    # The settings are there after another start: nothing of the paused pool was started.
    await ax.dispatch.restart()
    assert ax.dispatch.metric('ax_handed_off_total{pool="email"}') in (0, None)
    assert json.loads((await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.email"))[1]) == {"rate": 1, "paused": True}
    assert not problems, problems
    objections = [line for line in ax.server.log().splitlines() if "iolation" in line]
    assert not objections, "\n".join(objections)


if __name__ == "__main__":
    run(test, prepare, ingress=0, dispatch=0)
