# kill -9 of a worker in the middle of 20,000 keyed tasks: its tasks are redelivered after ack_wait, everything is done,
# and no living worker sees a task twice.
# ctest: timeout=240
import asyncio
import sys

from harness import eventually, run
from kill import check, tasks

COUNT = 20000

# The worker that dies is a process of its own: takes 100 tasks at once and sits on them.
VICTIM = """
import asyncio, json, os, sys
import nats
async def main():
    nc = await nats.connect(os.environ["NATS_URL"])
    inbox = nc.new_inbox()
    sub = await nc.subscribe(inbox, pending_msgs_limit=-1)
    while True:
        await nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", b'{"batch":10,"expires":2000000000}', reply=inbox)
        for _ in range(10):
            msg = await sub.next_msg(timeout=60)
            if not msg.reply:
                break
            print("held", msg.headers["Ax-Key"], flush=True)
asyncio.run(main())
"""


async def test(ax):
    await ax.pool("email", {"batch": 10, "backoff": "100ms"}, ack_wait=3)
    worker = await ax.worker(pulls=16, batch=10)
    victim = ax.spawn("victim", [sys.executable, "-c", VICTIM])
    push = asyncio.create_task(ax.push(tasks(COUNT), producers=4, window=50))
    for part in (4000, 10000):
        await eventually(lambda p=part: len(worker.starts) > p and victim.log().count("held") >= 10, 60,
                         f"{part} tasks started, the victim holds some")
        victim.kill()
        victim.start()
    await eventually(lambda: len(worker.starts) > 12000, 60)
    victim.kill()
    held = [line[5:] for line in victim.log().splitlines() if line.startswith("held")]
    answers = await push
    await ax.settled(COUNT, 90)
    assert answers["queued"] + answers["duplicate"] == COUNT, answers
    check([worker], COUNT)
    again = {t.key for t in worker.starts if t.attempt > 1}
    # A dead worker may have got a batch or two that it could no longer tell of.
    assert again and len(again - set(held)) <= 60, f"{len(again - set(held))} tasks were repeated that no dead worker held"
    print(f"{len(held)} held by dead workers, {len(again)} run again")


run(test, 220)
