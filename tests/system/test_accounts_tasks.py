# Teams in accounts of their own submit, pull and acknowledge as ever, with the rights that `ax access` prints and no
# others: the server has nothing to object. What happens to a task happens here, too.
# ctest: timeout=120
import asyncio
import json

import nats.errors
import wire
from accounts import run
from harness import Refused, eventually


async def test(ax):
    mail, shop = await ax.seat("mail-producer").connect(), await ax.seat("shop-producer").connect()

    # js.publish() of an unchanged producer; the pool comes with its first task.
    first = await mail.jetstream().publish("ax.submit.high.email", b"x", headers={"Nats-Msg-Id": "first"})
    assert first.stream == "AX_HIGH" and not first.duplicate
    assert (await mail.jetstream().publish("ax.submit.high.email", b"x", headers={"Nats-Msg-Id": "first"})).duplicate
    await eventually(lambda: ax.consumer("AX_WORK", "email"), 15)
    await ax.pool("email", {"backoff": "100ms", "max_retry": 1}, ack_wait=1)
    await ax.pool("invoice")

    batch = wire.batch([wire.task(body=f"b{i}", key=f"batch-{i}") for i in range(50)])
    answers = wire.replies((await mail.request("ax.submit.normal.email", batch, timeout=10,
                                               headers={"Ax-Schema": "ax.v1.TaskBatch"})).data)
    assert len(answers) == 50 and all(a["stream"] == "AX_NORMAL" for a in answers), answers
    for key, headers in (("delayed", {"Ax-Delay": "300ms"}), ("nak", {}), ("term", {}), ("silent", {}), ("long", {}),
                         ("synced", {})):
        await ax.submit("x", key, headers=headers, nc=mail)
    try:
        await ax.submit("x", headers={"Ax-Delay": "never"}, nc=mail)
        raise AssertionError("accepted")
    except Refused as refused:
        assert refused.code == 400, refused
    await ax.submit("i", "of-shop", "normal", "invoice", nc=shop)

    revoked = []
    workers = await ax.seat("mail-email").connect()

    async def on_revoke(msg):
        revoked.append((msg.subject, int(msg.data)))
    await workers.subscribe("ax.revoke.email.*", cb=on_revoke)

    async def handler(task):
        if task.key == "term":
            return "term", "no good"
        if task.key in ("nak", "silent") and task.attempt == 1:
            return ("nak", 0.2) if task.key == "nak" else "silence"
        if task.key == "long":
            for _ in range(10):
                await task.progress()
                await asyncio.sleep(0.2)
        if task.key == "synced":
            await task.msg.ack_sync(timeout=5)
            task.synced = True
            return "silence"
        return "ack"

    worker = await ax.seat("mail-email").worker("email", handler, pulls=8)
    other = await ax.seat("shop-invoice").worker("invoice")
    await ax.settled(1 + 50 + 5 + 1, 60, dead=1)
    runs = {}
    for task in worker.starts:
        runs.setdefault(task.key, []).append(task)
    assert {k for k, v in runs.items() if len(v) > 1} == {"nak", "silent"}, runs
    assert runs["synced"][0].synced and len(runs["long"]) == 1
    assert [t.key for t in other.starts] == ["of-shop"]
    assert any(s == f"ax.revoke.email.{runs['silent'][0].id}" for s, _ in revoked), revoked
    assert (await ax.last("AX_DEAD", f"ax.dead.email.{runs['term'][0].id}"))[0]["Ax-Reason"] == "terminated: no good"

    # An unchanged pull subscription of nats-py, which asks for the consumer first. The first task may have gone to a pull
    # of the worker that stops: then it comes back, after the second.
    await ax.submit("p", "by-fetch", nc=mail)
    await worker.stop()
    await ax.submit("p", "by-fetch-2", nc=mail)
    missing = {"by-fetch", "by-fetch-2"} - {task.key for task in worker.starts}
    plain = await workers.jetstream().pull_subscribe("", durable="email", stream="AX_WORK")
    for _ in range(20):
        try:
            [msg] = await plain.fetch(1, timeout=1)
        except nats.errors.TimeoutError:
            continue
        await msg.ack()
        missing.discard(msg.headers["Ax-Key"])
        if not missing:
            break
    await ax.settled(59, 30, dead=1)

    # A report is heard by the pool's dispatcher.
    await workers.publish("ax.worker.email.w1", json.dumps({"capacity": 8, "busy": 2}).encode())
    await eventually(lambda: (ax.dispatch.metric("ax_workers_reporting") or 0) >= 1, 10, "the report is heard")

    assert not ax.problems and not ax.violations(), (ax.problems, ax.violations())


run(test)
