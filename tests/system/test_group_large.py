# While groups take turns everything that waits is held, but not in memory: of 60 MB of bodies dispatch keeps a part,
# reads the others when it is their turn, and each worker gets its body byte for byte.
# ctest: timeout=240
import collections
import hashlib

from harness import SANITIZE, eventually, run

COUNT, BYTES = 300, 200_000


def body(i):
    return hashlib.sha256(f"{i}".encode()).digest() * (BYTES // 32)


def resident_mb(process):
    with open(f"/proc/{process.p.pid}/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmRSS"))


async def test(ax):
    await ax.pool("email", {"max_retry": 1, "backoff": "1ms"})
    before = resident_mb(ax.dispatch)
    for i in range(COUNT):
        await ax.submit(body(i), f"task-{i}", "low", headers={"Ax-Group": f"tenant-{i % 3}", "X-Number": f"{i}"})

    async def all_held():
        consumer = await ax.consumer("AX_LOW", "email")
        return consumer["num_pending"] == 0 and consumer["num_ack_pending"] == COUNT
    await eventually(all_held, 60, "dispatch holds all that waits")
    grown = resident_mb(ax.dispatch) - before
    print(f"{COUNT * BYTES / 1e6:.0f} MB wait, dispatch has grown by {grown:.1f} MB")
    assert SANITIZE or grown < 40, f"{grown:.1f} MB"

    # One is cancelled, one removed behind dispatch's back, while their content is not at hand.
    reply = await ax.nc.request(f"ax.cancel.email.{(await ax.submit(b'', f'task-{COUNT - 1}', 'low'))['task']}", b"", timeout=10)
    assert b'"was":"queued"' in reply.data, reply.data
    seq = (await ax.stream("AX_LOW"))["state"]["last_seq"] - 1
    assert (await ax.api("STREAM.MSG.DELETE.AX_LOW", {"seq": seq, "no_erase": True}))["success"]

    wrong, starts = [], collections.Counter()

    async def handler(task):
        i = int(task.headers["X-Number"])
        starts[i] += 1
        if task.body != body(i):
            wrong.append(i)
        return "nak" if i == COUNT - 3 and task.attempt == 1 else "ack"

    await ax.worker(handler=handler, pulls=4)
    await eventually(lambda: len(starts) == COUNT - 2, 60, "all started")
    await ax.settled(COUNT - 1, 60)  # the cancelled one has a record, too
    assert not wrong, wrong
    assert sorted(starts) == list(range(COUNT - 2))
    assert all(n == (2 if i == COUNT - 3 else 1) for i, n in starts.items()), starts.most_common(3)


run(test, 200)
