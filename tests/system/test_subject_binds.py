# Who may publish to a subject submits there and nowhere else: a protobuf body, alone or in a batch, with a reply or
# without, names no other pool or priority than its subject. Only ax.submit leaves both to the tasks.
import wire
from harness import eventually, run

ONE, MANY = {"Ax-Schema": "ax.v1.Task"}, {"Ax-Schema": "ax.v1.TaskBatch"}


async def test(ax):
    await ax.pool("email")
    await ax.pool("sms")

    async def ask(subject, data, headers):
        return (await ax.nc.request(subject, data, headers=headers, timeout=10)).data

    foreign = ({"pool": "sms"}, {"priority": "low"}, {"pool": "sms", "priority": "low"})
    for i, names in enumerate(foreign):
        reply = await ask("ax.submit.high.email", wire.task(body="x", key=f"one-{i}", **names), ONE)
        assert b'"code":400' in reply and b"as in the subject" in reply, reply
        tasks = [wire.task(body="x", key=f"own-{i}", pool="email"), wire.task(body="x", key=f"many-{i}", **names)]
        own, other = wire.replies(await ask("ax.submit.high.email", wire.batch(tasks), MANY))
        assert own["stream"] == "AX_HIGH" and other["error"]["code"] == 400, (own, other)
        assert "ax.submit" in other["error"]["description"], other
    assert b"must be default" in await ask("ax.submit.high", wire.task(body="x", pool="sms"), ONE)

    # Without a reply it is kept, under the pool of the subject and no other.
    await ax.nc.publish("ax.submit.high.email", wire.task(body="x", key="quiet", pool="sms"), headers=ONE)
    await ax.nc.publish("ax.submit.high.email", wire.batch([wire.task(body="x", key="quiet", pool="sms")]), headers=MANY)

    async def kept():
        return await ax.messages("AX_DEAD") == 2
    await eventually(kept, 10)
    assert all(s.startswith("ax.dead.email.") for s in await ax.subjects("AX_DEAD")), await ax.subjects("AX_DEAD")

    # ax.submit: each task says where it goes, and must.
    tasks = [wire.task(body="x", priority="low", pool="sms"), wire.task(body="x", priority="normal"),
             wire.task(body="x", pool="sms")]
    first, second, third = wire.replies(await ask("ax.submit", wire.batch(tasks), MANY))
    assert first["stream"] == "AX_LOW" and second["stream"] == "AX_NORMAL" and "priority" in third["error"]["description"]
    assert b'"AX_LOW"' in await ask("ax.submit", wire.task(body="x", priority="low", pool="email"), ONE)
    assert b'"code":400' in await ask("ax.submit", b"headers name no priority", None)
    subjects = await ax.subjects("AX_HIGH")
    assert len(subjects) == 3 and all(s.startswith("ax.queue.high.email.") for s in subjects), subjects


run(test)
