# Somebody who may ack in a pool forges acks for its next hand-offs, before and while tasks are handed off: each task is
# still run by a worker and recorded as that worker's, also when another dispatcher takes the pool over meanwhile.
import asyncio
import time

import wire
from harness import eventually, run
from leaders import leader

AHEAD = 50  # sequences of AX_WORK for which acks are forged
TASKS = 30


class Forger:
    """Acks what it never got: sequences from the present one on, with times that it can guess."""

    def __init__(self, ax, nc):
        self.ax, self.nc, self.sent, self.stopping = ax, nc, 0, False

    def start(self):
        self.job = asyncio.create_task(self._forge())
        return self

    async def _forge(self):
        while not self.stopping:
            last = (await self.ax.stream("AX_WORK"))["state"]["last_seq"]
            now = time.time_ns()
            for seq in range(max(1, last - 3), last + AHEAD):
                for stored in (now, now - 200 * 10**9, now + 200 * 10**9, 0):
                    ack = (b"", b"+ACK", b"+NXT")[self.sent % 3]
                    await self.nc.publish(f"$JS.ACK.AX_WORK.email.1.{seq}.{seq}.{stored}.0", ack)
                    self.sent += 1
            await self.nc.flush()
            await asyncio.sleep(0.02)

    async def stop(self):
        self.stopping = True
        await self.job


async def fences(ax):
    """Under which fencing tokens each task is recorded as done: {id: {fence, …}}."""
    found = {}
    for subject in await ax.subjects("KV_AX_DONE"):
        _, body, _ = await ax.last("KV_AX_DONE", subject)
        if ".page." in subject:
            for r in wire.record_batch(body):
                found.setdefault(r["task"], set()).add(r["fence"])
        else:
            found.setdefault(subject.split(".")[2], set()).add(wire.record(body)[4])
    return found


async def all_run(ax, worker, first, count):
    """Submits so many more. Each is recorded, under a fence under which a worker had run it to its end by then."""
    for i in range(first, first + count):
        await ax.submit("x", f"order-{i}", retry=True)

    async def check():
        for task, recorded in (await fences(ax)).items():
            run = {t.fence for t in worker.finished if t.id == task}
            if not recorded <= run:
                raise SystemExit(f"{task} is recorded under {recorded}, and was run under {run}")
        assert len(await fences(ax)) == first + count, f"{await ax.done()} recorded, {len(worker.starts)} starts"
        return True
    await eventually(check, 60, "all tasks recorded", every=0.2)


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=3)

    async def handler(task):
        await asyncio.sleep(0.15)

    forger = Forger(ax, await ax.connect("forger")).start()
    await eventually(lambda: forger.sent > 1000, 10, "acks are being forged")
    worker = await ax.worker(handler=handler, pulls=6)
    await all_run(ax, worker, 0, TASKS)
    assert len(worker.finished) >= TASKS
    old = leader(ax, "email")
    assert old.metric('ax_acks_refused_total{pool="email"}') > 100
    assert old.log().count("ack does not fit a hand-off") <= 2, "a line for every forged ack"

    for i in range(6):
        await ax.submit("x", f"order-{TASKS + i}", retry=True)
    await eventually(lambda: len({t.id for t in worker.starts}) > TASKS + 3, 10, "tasks at work")
    old.kill()
    await all_run(ax, worker, TASKS + 6, 6)
    await forger.stop()


run(test, dispatch=2, seconds=110)
