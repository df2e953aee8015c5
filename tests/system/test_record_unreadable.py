# What lies where a key's record belongs and cannot be read does not make the key done: a submission runs exactly once,
# and is known as done from then on. Both when ingress finds it at its start and when it is written while all run; also
# for a batch of records, and for `ax status`.
import hashlib
import json

import wire
from cli import cli
from harness import eventually, run

PUBACK = b'{"stream":"AX_HIGH","seq":42,"duplicate":false}'  # an answer that was sent there, long ago


def task_id(key, pool="email"):
    return hashlib.sha256(pool.encode() + b"\0" + key.encode()).hexdigest()[:32]


async def state(ax, key):
    _, out, err = await cli(ax, "status", key, "--pool", "email", "--json")
    return json.loads(out)["state"] if out else err


async def spoil(ax, key):
    """Puts a text where the record of that key belongs."""
    await ax.js.publish(f"$KV.AX_DONE.{task_id(key)}", PUBACK)


async def is_recorded(ax, key):
    _, body, _ = await ax.last("KV_AX_DONE", f"$KV.AX_DONE.{task_id(key)}")
    return body != PUBACK and wire.record(body)[1] == 1


async def runs_once(ax, worker, key):
    first = await ax.submit("x", key)
    assert not first.get("duplicate"), first
    await eventually(lambda: is_recorded(ax, key), 20, "a record in its place")
    async def over():
        return await ax.unfinished() == 0
    await eventually(over, 10, "nothing left of it")
    assert [t.key for t in worker.starts].count(key) == 1
    again = await ax.submit("x", key)
    assert again["duplicate"] and again["state"] == "done", again
    assert await state(ax, key) == "done"


async def test(ax):
    await ax.pool("email")
    worker = await ax.worker()
    await spoil(ax, "while running")
    assert "unknown" in await state(ax, "while running")
    await runs_once(ax, worker, "while running")

    assert ax.ingress.metric("ax_ingress_records_unreadable_total") >= 1
    assert ax.ingress.log().count("record that cannot be read, counts as none") == 1
    _, found, _ = await cli(ax, "doctor", "--json")
    assert "records_unreadable" in found, found

    await spoil(ax, "at the start")
    await ax.js.publish(f"$KV.AX_DONE.page.7-{'ab' * 12}", PUBACK)
    for daemon in ax.ingresses + ax.dispatches:
        await daemon.restart()
    await runs_once(ax, worker, "at the start")
    for daemon, text in ((ax.ingress, "ax_ingress_records_unreadable_total"),
                         (ax.dispatch, "ax_dispatch_records_unreadable_total")):
        assert daemon.metric(text) >= 2, text  # the batch, and the record
    assert len(worker.starts) == 2, [t.key for t in worker.starts]


run(test)
