# Tasks that finish together are recorded together, in batches; each is known, found and freed as if it stood alone.
import asyncio
import json

from harness import eventually, own, run

COUNT = 300


async def status(ax, *args):
    process = await asyncio.create_subprocess_exec(own("ax"), "status", "--json", *args, env=ax.env,
                                                   stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await process.communicate()
    assert process.returncode in (0, 1), err
    return json.loads(out)


async def test(ax):
    await ax.pool("email", {"batch": 500})
    release = asyncio.Event()

    async def handler(task):
        await release.wait()

    worker = await ax.worker(handler=handler, pulls=COUNT + 20)
    first = await ax.submit("x", "alone")
    keys = [f"k{i}" for i in range(COUNT)]
    ids = dict(zip(keys, [a["task"] for a in await asyncio.gather(*(ax.submit("x", k) for k in keys))]))
    keyless = [(await ax.submit("x"))["task"] for _ in range(10)]
    await eventually(lambda: len(worker.starts) == COUNT + 11, 20, "all are with the worker")
    release.set()
    await ax.settled(COUNT + 11, 20)
    batches, messages = await ax.record_batches()
    assert batches and messages < COUNT / 2, (batches, messages)
    written = {s: (await ax.last("KV_AX_DONE", s))[1] for s in batches}

    def batched(task):
        return any(task.encode() in data for data in written.values())

    assert sum(map(batched, ids.values())) > COUNT / 2
    assert all(sum(data.count(t.encode()) for t in [*ids.values(), *keyless, first["task"]]) == batches[s]
               for s, data in written.items()), "a batch's subject tells another number than it holds"

    # A task that finishes alone is recorded alone.
    alone = await ax.submit("x", "alone again")
    await ax.settled(COUNT + 12, 10)
    assert await ax.last("KV_AX_DONE", f"$KV.AX_DONE.{alone['task']}"), "no record under its own key"

    a, b, c = [k for k in keys if batched(ids[k])][:3]
    for restart in (None, ax.ingress, ax.dispatch):
        if restart:
            await restart.restart(hard=True)
        answers = await asyncio.gather(*(ax.submit("x", k) for k in keys))
        wrong = [x for x in answers if not (x["duplicate"] and x["state"] == "done")]
        assert not wrong, f"{len(wrong)} finished keys were taken again: {wrong[:2]}"
        await ax.js.publish(f"ax.queue.high.email.{ids[a]}", b"x")
        await ax.settled(COUNT + 12, 15)
    assert len(worker.starts) == COUNT + 12, "a finished task was started again"

    found = await status(ax, "--pool", "email", a)
    assert found["state"] == "done" and found["task"] == ids[a] and found["attempt"] == 1 and found["fence"], found
    nokey = next((t for t in keyless if batched(t)), None)
    if nokey:  # ingress does not follow tasks without a key: the batches are read
        found = await status(ax, nokey)
        assert found["state"] == "done" and found["pool"] == "email", found
    ax.ingress.kill()
    found = await status(ax, "--pool", "email", b)
    assert found["state"] == "done" and found["task"] == ids[b], found
    assert (await status(ax, "--pool", "email", "never seen"))["state"] == "unknown"
    ax.ingress.start()
    await ax.ingress.ready()

    # The newest word about a task counts: an operator who deletes its record frees the key, wherever the record stands.
    await ax.js.publish(f"$KV.AX_DONE.{ids[c]}", b"", headers={"KV-Operation": "DEL"})
    answer = await ax.submit("x", c)
    assert not answer["duplicate"], answer
    await eventually(lambda: len(worker.starts) == COUNT + 13, 10, "it runs again")
    await eventually(lambda: ax.record(ids[c]), 10, "and is recorded")
    answer = await eventually(lambda: ax.submit("x", c), 10)
    assert answer["duplicate"], answer


run(test)
