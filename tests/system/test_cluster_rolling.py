# Tasks through AX while leaders step down and every node of the cluster is killed and started again in turn: producers
# get a PubAck, a 503 or no answer, every accepted task is done, and none is started twice whose ack was taken in time
# and whose hand-off a server had answered (docs/design/attempts.md, "The order of steps": the answer may die with a
# node).
# ctest: timeout=200
import asyncio
import collections
import time

import nats.errors

from cluster import run
from harness import SLOW, Refused, Worker, eventually, hint_seconds

ACK_WAIT = 20
QUEUES = ("AX_HIGH", "AX_WORK", "KV_AX_DONE", "AX_LATER")


class SureWorker(Worker):
    """Acks with a request, again until the consumer has confirmed it: an ack that a node took with it does not count."""

    async def _work(self, task):
        task.worker = self
        self.starts.append(task)
        await asyncio.sleep(0.005)
        while not self.stopping:
            try:
                await self.nc.request(task.msg.reply, b"+ACK", timeout=1)
                break
            except nats.errors.Error:
                await asyncio.sleep(0.05)
        task.ended = time.monotonic()
        self.finished.append(task)


async def test(ax):
    c = ax.cluster
    await ax.pool("email", {"backoff": "500ms"}, ack_wait=ACK_WAIT)
    await c.ready()
    workers = []
    for i in range(2):
        worker = SureWorker(ax, "email", pulls=8)
        ax.workers.append(worker)
        workers.append(await worker.start())
    accepted, answers, fences, flowing = set(), collections.Counter(), [], True
    killed = []

    async def producer(nc, name):
        n = 0
        while flowing:
            key = f"{name}-{n}"
            n += 1
            while True:
                try:
                    reply = await ax.submit("x", key, nc=nc, timeout=5)
                    answers["stored" if not reply["duplicate"] else "duplicate"] += 1
                    accepted.add(key)
                    break
                except Refused as refused:
                    assert refused.code == 503, refused.error
                    answers["503"] += 1
                    await asyncio.sleep(hint_seconds({"error": refused.error}) if "retry in" in str(refused) else 0.1)
                except nats.errors.Error:
                    answers["no answer"] += 1
                    await asyncio.sleep(0.05)
            await asyncio.sleep(0.02)

    connections = [await ax.connect(f"producer-{i}") for i in range(4)]
    producing = [asyncio.create_task(producer(nc, f"p{i}-{j}")) for i, nc in enumerate(connections) for j in range(2)]
    try:
        await eventually(lambda: any(w.starts for w in workers), 30, "the first start")
        for stream in QUEUES:
            await c.step_down(stream)
        for stream in ("AX_HIGH", "AX_WORK"):
            await c.step_down(stream, "email")
        await c.step_down_meta()
        for node in c.nodes:
            killed.append((node.name, time.monotonic()))
            await c.restart(node)
            fences.append(max(t.fence for w in workers for t in w.starts))
            await eventually(lambda: max(t.fence for w in workers for t in w.starts) > fences[-1], 30,
                             f"tasks start again after {node.name} was away")
    finally:
        flowing = False
        await asyncio.wait_for(asyncio.gather(*producing), 60 * SLOW)
    await ax.settled(len(accepted), 60)

    starts = collections.Counter(t.key for w in workers for t in w.starts)
    order = sorted((t.started, t.fence) for w in workers for t in w.starts)
    pauses = sorted((b - a for (a, _), (b, _) in zip(order, order[1:])), reverse=True)
    print(f"accepted {len(accepted)}, answers {dict(answers)}, starts {starts.total()}, "
          f"longest pauses between starts {[round(s, 1) for s in pauses[:5]]}")
    assert set(starts) == accepted
    # An ack that no leader took within the ack wait came too late: that attempt has timed out, and says so.
    late = {t.key for w in workers for t in w.starts if t.ended is None or t.ended - t.started > ACK_WAIT - 2}
    unanswered = {t.key for w in workers for t in w.starts if any(0 <= k - t.started < 1 for _, k in killed)}
    began = order[0][0]
    again = sorted((t for w in workers for t in w.starts if starts[t.key] > 1), key=lambda t: (t.key, t.started))
    told = [(t.key, t.id, f"attempt {t.attempt} fence {t.fence} at {t.started - began:.2f} for {t.ended - t.started:.2f} s")
            for t in again]
    if told:
        print(f"started more than once, nodes killed at {[(n, round(k - began, 2)) for n, k in killed]}: {told}")
    assert {t.key for t in again} <= late | unanswered, told
    assert len({t.key for t in again}) <= 16, told  # what is under way at most when a node dies
    assert len({fence for _, fence in order}) == len(order) and fences == sorted(set(fences)), fences


run(test, 190, ingress=2, dispatch=2)
