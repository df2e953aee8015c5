# A worker may give a task back that it could not run: the next attempt is due at once, or after the delay it asks for,
# and no retry is spent, however often.
# ctest: sanitize=address
from harness import eventually, run

TIMES = 3


async def test(ax):
    await ax.pool("p", {"max_retry": 0})
    worker = await ax.worker("p", give_back)
    await ax.submit("x", "key", "high", "p")
    await eventually(lambda: worker.finished and worker.finished[-1].done, 20, "it ran in the end")
    assert [t.headers["Ax-Attempt"] for t in worker.starts] == ["1", "2", "3", "4"], worker.starts
    assert [t.headers.get("Ax-Given-Back") for t in worker.starts] == [None, "1", "2", "3"], worker.starts
    assert worker.starts[3].stored - worker.starts[2].stored >= 2, "given back with a delay"
    await ax.settled(1)
    d = ax.dispatch
    assert d.metric('ax_given_back_total{pool="p"}') == TIMES
    assert (d.metric('ax_naks_total{pool="p"}') or 0, d.metric('ax_retried_total{pool="p"}') or 0) == (0, 0)

    # What has failed once is dead, also after it was given back.
    failing = await ax.worker("p", give_back_and_fail)
    await worker.stop()
    await ax.submit("y", "other", "high", "p")
    await ax.settled(1, dead=1)
    assert len(failing.starts) == 2, failing.starts


async def give_back(task):
    task.done = False
    if int(task.headers["Ax-Attempt"]) <= TIMES:
        delay = b',"delay":2000000000' if task.headers["Ax-Attempt"] == str(TIMES) else b""
        await task.msg._client.publish(task.msg.reply, b'-NAK {"given_back":true%s}' % delay)
        return "silence"
    task.done = True
    return "ack"


async def give_back_and_fail(task):
    if task.headers["Ax-Attempt"] == "1":
        await task.msg._client.publish(task.msg.reply, b'-NAK {"given_back":true}')
        return "silence"
    return "nak"


run(test)
