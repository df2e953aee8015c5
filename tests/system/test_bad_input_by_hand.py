# Messages that somebody publishes by hand into AX's own streams, without headers or with wrong ones: a working task or
# a line in the log, and the daemons live on.
# ctest: timeout=120
# ctest: sanitize
from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "50ms", "max_retry": 1})
    worker = await ax.worker()

    async def started(body):
        await eventually(lambda: any(t.body == body for t in worker.starts), 15, f"{body} started")
        return next(t for t in worker.starts if t.body == body)

    await ax.js.publish("ax.queue.high.email.byhand1", b"no headers")
    task = await started(b"no headers")
    assert task.id == "byhand1" and task.attempt == 1 and task.priority == "high", task.headers
    await ax.js.publish("ax.queue.low.email.byhand2", b"odd headers", headers={
        "Ax-Attempt": "many", "Ax-Max-Retry": "-7", "Ax-Lease": "$JS.ACK.AX_HIGH.email.1.1.1.1.1", "Ax-Timeouts": "1e9",
        "Ax-Submitted": "yesterday", "Ax-Task": "somebody-else", "Ax-Backoff": "x", "Ax-Expires": "never"})
    task = await started(b"odd headers")
    assert task.id == "byhand2" and task.attempt == 1, task.headers
    await ax.js.publish("ax.due.normal.email.byhand3", b"due at once")
    assert (await started(b"due at once")).id == "byhand3"
    await ax.settled(3, 15)

    # A hand-off that nobody made: there is no queue message to finish, the worker's ack simply ends it.
    await ax.js.publish("ax.work.email.byhand4", b"in AX_WORK")
    await started(b"in AX_WORK")
    await ax.js.publish("ax.work.email.byhand5", b"with a lease", headers={"Ax-Lease": "no ack subject",
                                                                           "Ax-Task": "byhand5"})
    await started(b"with a lease")
    await eventually(lambda: gone(ax, "AX_WORK"), 15)

    # Names no task: it cannot be worked, and must not block what comes after it.
    await ax.js.publish("ax.queue.high.email.a.b.c", b"no task")
    await ax.js.publish("ax.queue.high.email.bad!id", b"no task id")
    await ax.js.publish("ax.due.high.email.x.y.z", b"no task")
    await ax.submit("after", "after")
    await started(b"after")
    for name in ("reports", "garbage"):  # what workers may tell, and nonsense there
        await ax.nc.publish(f"ax.worker.email.{name}", b"\xff\xff\xff")
    await ax.nc.publish("$JS.ACK.AX_WORK.email.1.x.3.4.5", b"")
    await ax.nc.publish("$JS.ACK.AX_WORK.email", b"-NAK {")
    await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b'{"batch":', reply="_INBOX.nobody")
    await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b'{"batch":99999999999999999999}', reply="_INBOX.no")
    await ax.submit("the end", "end")
    await started(b"the end")
    assert ax.ingress.running() and ax.dispatch.running()


async def gone(ax, stream):
    return await ax.messages(stream) == 0


run(test)
