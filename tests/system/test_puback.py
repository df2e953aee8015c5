# A plain js.publish() gets a normal PubAck; the same key again is a duplicate in every state of the task.
# ctest: timeout=120
# ctest: sanitize
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "1h", "max_retry": 1})
    release = asyncio.Event()
    seen = asyncio.Event()

    async def handler(task):
        seen.set()
        await release.wait()
        return {"fails": "nak", "dies": ("term", "no such address")}.get(task.key, "ack")

    async def again(key, state):
        ack = await ax.js.publish("ax.submit.high.email", b"another body", headers={"Nats-Msg-Id": key})
        assert ack.duplicate is True, ack
        reply = await ax.submit("another body", key)
        assert reply["duplicate"] is True and reply["state"] == state and reply["task"] == ids[key], (reply, state)
        assert reply["stream"] and reply["seq"] > 0, reply
        return reply

    first = await ax.js.publish("ax.submit.high.email", b"hello", headers={"Nats-Msg-Id": "invoice 42"})
    assert first.stream == "AX_HIGH" and first.seq > 0 and not first.duplicate, first
    ids = {}
    for key in ("fails", "dies"):
        reply = await ax.submit("hello", key)
        assert reply["duplicate"] is False and reply["state"] == "queued", reply
        ids[key] = reply["task"]
    ids["invoice 42"] = (await ax.submit("x", "invoice 42"))["task"]
    assert len(set(ids.values())) == 3 and all(len(i) == 32 for i in ids.values()), ids
    for key in ids:
        await again(key, "queued")

    # The same key by its other name, in another pool, and no key at all.
    reply = await ax.submit("hello", headers={"Ax-Key": "invoice 42"})
    assert reply["duplicate"] is True and reply["task"] == ids["invoice 42"], reply
    reply = await ax.submit("hello", "invoice 42", pool="sms")
    assert reply["duplicate"] is False and reply["task"] != ids["invoice 42"], reply
    keyless = [await ax.submit("same body", pool="sms") for _ in range(3)]
    assert not any(r["duplicate"] for r in keyless) and len({r["task"] for r in keyless}) == 3, keyless

    worker = await ax.worker(handler=handler, pulls=4)
    await eventually(lambda: len(worker.starts) == 3, 10, "three tasks at work")
    for key in ids:
        await again(key, "running")
    release.set()
    await eventually(lambda: len(worker.finished) == 3, 10, "three tasks finished")

    async def state(key, wanted):
        return (await ax.submit("x", key))["state"] == wanted
    for key, wanted in (("invoice 42", "done"), ("dies", "dead"), ("fails", "later")):
        await eventually(lambda k=key, w=wanted: state(k, w), 10, f"{key} is {wanted}")
        await again(key, wanted)
    assert len(worker.starts) == 3, [t.key for t in worker.starts]
    bodies = {t.key: t.body for t in worker.starts}
    assert bodies["invoice 42"] == b"hello", bodies

    # Nothing was stored for any of the repeats.
    assert await ax.messages("AX_HIGH") == 4 and await ax.messages("AX_WORK") == 0  # 4: of the pool sms
    assert await ax.messages("AX_LATER") == 1 and await ax.messages("AX_DEAD") == 1


run(test)
