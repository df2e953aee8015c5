# Ordered tasks of a group run one at a time, in the order in which they were accepted, with eight workers, naks,
# time-outs and a dispatcher killed twice; other groups go on meanwhile. A dead letter and a cancelled retry let the
# next one go. A full queue with policy spill refuses them, since the spill does not keep their order.
# ctest: timeout=300
import asyncio
import collections
import os
import time

from harness import Ax, Refused, SLOW, eventually, run

GROUPS, EACH = 8, int(os.environ.get("AX_GROUP_TASKS") or 70)  # tasks of each; `make tenants` takes more
HEADERS = {"Ax-Ordered": "true", "Ax-Max-Retry": "3", "Ax-Backoff": "20ms"}


async def test(ax):
    await ax.pool("email", ack_wait=2)
    running, most, starts, together = collections.Counter(), 0, collections.defaultdict(list), 0

    async def handler(task):
        nonlocal most, together
        name, number = task.headers["Ax-Group"], int(task.body)
        starts[name].append((number, task.attempt))
        running[name] += 1
        most = max(most, running[name])
        together = max(together, sum(running.values()))
        await asyncio.sleep(0.004)
        running[name] -= 1
        if number == 30 and task.attempt == 1:
            return "silence"
        return "nak" if number % 12 == 5 and task.attempt <= 1 + number % 3 else "ack"

    workers = [await ax.worker(handler=handler, pulls=1) for _ in range(8)]

    async def push(name):
        for i in range(EACH):
            await ax.submit(f"{i}", f"{name}-{i}", "low", headers={**HEADERS, "Ax-Group": name}, retry=True)

    pushing = asyncio.gather(*(push(f"tenant-{g}") for g in range(GROUPS)))
    for part in (0.15, 0.5):
        await eventually(lambda n=part: sum(map(len, starts.values())) > n * GROUPS * EACH, 60 + GROUPS * EACH / 20, f"{part:.0%} started")
        ax.dispatch.kill()
        ax.dispatch.start()
    await pushing
    await ax.settled(GROUPS * EACH, 90 + GROUPS * EACH / 50)
    for name, seen in starts.items():
        assert seen == sorted(seen), f"{name}: {[(a, b) for a, b in zip(seen, seen[1:]) if a >= b][:3]}"
        want = [(i, a) for i in range(EACH)
                for a in range(1, 2 + (i % 3 + 1 if i % 12 == 5 else 1 if i == 30 else 0))]
        assert seen == want, (name, set(want) ^ set(seen))
    assert most == 1, f"{most} of a group at once"
    assert together >= 4, f"only {together} groups at once"
    for w in workers:
        await w.stop()
    ax.workers.clear()

    # What ends for good lets the next one go: a dead letter, a cancelled task that waits for its retry; tasks of the
    # group that are not ordered do not wait for it at all.
    await ax.pool("sms")
    done = []

    async def once(task):
        done.append(task.body.decode())
        return {b"dies": ("term", "no"), b"waits": ("nak", 3600)}.get(task.body, "ack")

    await ax.worker("sms", once, pulls=4)
    headers = {"Ax-Group": "g", "Ax-Ordered": "true"}
    for body in ("first", "dies", "waits"):
        last = await ax.submit(body, body, "low", "sms", headers=headers)
    await ax.submit("after", "after", "low", "sms", headers=headers)
    await eventually(lambda: ax.messages("AX_LATER"), 40, "one waits for its retry")
    await ax.submit("free", "free", "low", "sms", headers={"Ax-Group": "g"})
    await eventually(lambda: "free" in done, 40, "the one without order done")
    assert done == ["first", "dies", "waits", "free"], done
    reply = await ax.nc.request(f"ax.cancel.sms.{last['task']}", b"", timeout=10 * SLOW)
    assert b'"was":"later"' in reply.data, reply.data
    await eventually(lambda: done[-1] == "after", 40, "the one behind it done")

    # A new leader knows of a retry that waits.
    done.clear()
    for body in ("waits", "behind"):
        last = await ax.submit(body, f"again-{body}", "low", "sms", headers=headers)
    await eventually(lambda: ax.messages("AX_LATER"), 40, "one waits for its retry")
    ax.dispatch.kill()
    ax.dispatch.start()
    await ax.dispatch.ready()
    await ax.submit("free", "free-2", "low", "sms", headers={"Ax-Group": "g"})
    await eventually(lambda: "free" in done, 40, "the one without order done")
    begun = time.monotonic()
    while time.monotonic() < begun + 3:  # longer than it looks after those that wait
        await asyncio.sleep(0.1)
        assert done == ["waits", "free"], done
    later = [s for s in await ax.subjects("AX_LATER") if s.startswith("ax.later.")]
    assert len(later) == 1, later
    await ax.api("STREAM.PURGE.AX_LATER", {"filter": later[0]})  # by hand: nobody tells dispatch
    await eventually(lambda: "behind" in done, 40, "the one behind it done")

    # Spill.
    await ax.edit_stream("AX_HIGH", max_msgs=2, metadata={"ax.rank": "1", "ax.on_full": "spill",
                                                              "ax.pool_share": "1"})
    await eventually(lambda: spills(ax), 30, "the priority spills")
    refused = False
    try:
        for i in range(4):
            await ax.submit("x", pool="nobody", headers=headers)
    except Refused as error:
        refused = "queue high is full" in str(error)
    assert refused and await ax.messages("AX_SPILL") <= 1


async def spills(ax):
    try:
        await ax.submit("x", pool="nobody")
    except Refused:  # ingress has not heard of the policy yet
        pass
    return await ax.messages("AX_SPILL") > 0


run(test, 260 + GROUPS * EACH / 20, make=lambda: Ax(ingress=2))
