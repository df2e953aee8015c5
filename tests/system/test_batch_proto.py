# The protobuf form: one ax.v1.Task, and a TaskBatch of 500 in which some are bad: the others go in, each has its
# answer.
# ctest: timeout=120
# ctest: sanitize
import wire
from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"max_retry": 5})
    await ax.pool("sms")
    one = {"Ax-Schema": "ax.v1.Task"}
    many = {"Ax-Schema": "ax.v1.TaskBatch"}
    body = bytes(range(256))
    reply = await ax.submit(wire.task(body=body, key="k1", priority="low", pool="sms", max_retry=0,
                                      headers={"traceparent": "00-11-22-01"}), priority="low", pool="sms",
                            headers=one)
    assert reply["stream"] == "AX_LOW" and reply["duplicate"] is False and reply["state"] == "queued", reply
    again = await ax.submit(body, "k1", "low", "sms")
    assert again["duplicate"] is True and again["task"] == reply["task"], "both forms make the same id"

    tasks = [wire.task(body=f"body {i}", key=f"b{i}") for i in range(500)]
    tasks[7] = wire.task(body="x", key="k" * 513)
    tasks[100] = wire.task(body="x", key="b99")  # the same key twice in one batch
    tasks[200] = wire.task(body="x", key="b200", backoff="soon")
    tasks[300] = wire.task(body="x", key="b300", priority="no such")
    tasks[301] = wire.task(body="x", key="b301", priority="urgent")
    tasks[400] = wire.task(body="x", key="b400", headers={"Ax-Key": "mine"})
    tasks[401] = wire.task()
    msg = await ax.nc.request("ax.submit.high.email", wire.batch(tasks), headers=many, timeout=20)
    answers = wire.replies(msg.data)
    assert len(answers) == 500, len(answers)
    for i, words in ((7, ("513", "512")), (200, ("backoff", "soon")), (300, ("priority", "no such")),
                     (301, ("urgent",)), (400, ("Ax-Key",))):
        error = answers[i]["error"]
        assert error and error["code"] == 400 and error["err_code"] == 10003, (i, answers[i])
        assert all(w in error["description"] for w in words), (i, error)
        assert not answers[i]["stream"] and answers[i]["seq"] == 0, answers[i]
    good = [a for a in answers if not a["error"]]
    assert len(good) == 495 and all(a["stream"] == "AX_HIGH" and a["seq"] for a in good), len(good)
    assert answers[99]["task"] == answers[100]["task"] and answers[99]["duplicate"] + answers[100]["duplicate"] == 1
    assert sum(a["duplicate"] for a in good) == 1

    # A batch that does not fit: what finds no room is told so, and nothing of it is stored.
    await ax.bound("AX_NORMAL", 10)
    tasks = [wire.task(body="n", key=f"n{i}") for i in range(30)]
    answers = wire.replies((await ax.nc.request("ax.submit.normal.email", wire.batch(tasks), headers=many,
                                                timeout=20)).data)
    busy = [a["error"] for a in answers if a["error"]]
    assert len(busy) == 20 and all(e["code"] == 503 and e["err_code"] == 10077 and e["retry_after_ms"] > 0
                                   for e in busy), busy[:2]

    worker = await ax.worker("email", pulls=8)
    other = await ax.worker("sms")
    await ax.settled(1 + 494 + 10, 40)
    assert other.starts[0].body == body and other.starts[0].headers["traceparent"] == "00-11-22-01"
    assert other.starts[0].headers["Ax-Max-Retry"] == "0", other.starts[0].headers
    runs = {t.key: t for t in worker.starts if t.key}
    assert runs["b499"].body == b"body 499" and "Ax-Schema" not in runs["b499"].headers
    assert len(worker.starts) == 504, len(worker.starts)

    # Garbage, truncated, empty: an error each, and the next one works.
    whole = wire.task(body="x" * 100, key="cut")
    for schema, data in (("ax.v1.Task", b"\xff\xff\xff\xff"), ("ax.v1.Task", whole[:-30]), ("ax.v1.Task", b"\x0a\xff\x7f"),
                         ("ax.v1.TaskBatch", b"\x0a\x05abc"), ("ax.v1.TaskBatch", b"not protobuf at all"),
                         ("ax.v2.Task", whole), ("AX.V1.TASK", whole)):
        msg = await ax.nc.request("ax.submit.high.email", data, headers={"Ax-Schema": schema}, timeout=10)
        if schema == "ax.v1.TaskBatch" and not msg.data.startswith(b"{"):
            [answer] = wire.replies(msg.data)
            assert answer["error"]["code"] == 400, answer
        else:
            assert b'"code":400' in msg.data, (schema, data, msg.data)
    await ax.submit(wire.task(body="fine", key="after"), headers=one)
    await eventually(lambda: worker.starts[-1].key == "after", 10)


run(test)
