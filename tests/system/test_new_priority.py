# Adding a priority is adding a stream: its tasks are taken without a restart, in their rank.
# ctest: timeout=120
import asyncio
import json
import os

from harness import Refused, eventually, run


async def test(ax):
    await ax.pool("email", {"batch": 1})
    try:
        await ax.submit("x", "too early", "urgent")
        raise AssertionError("a priority without a stream was accepted")
    except Refused as refused:
        assert refused.code == 400 and "urgent" in str(refused) and "high" in str(refused), refused
    config = {**(await ax.stream("AX_HIGH"))["config"], "name": "AX_URGENT", "subjects": ["ax.queue.urgent.>"],
              "max_msgs": 5, "metadata": {"ax.rank": "0", "ax.on_full": "busy"}}
    path = os.path.join(ax.directory, "urgent.json")
    with open(path, "w") as f:
        json.dump(config, f)
    await ax.cli("stream", "add", "--config", path)

    async def taken():
        try:
            return await ax.submit("x", "first", "urgent")
        except Refused:
            return None
    reply = await eventually(taken, 15, "the new priority is known")
    assert reply["stream"] == "AX_URGENT", reply
    await eventually(lambda: ax.consumer("AX_URGENT", "email"), 15, "the pool's consumer on the new stream")

    gate = asyncio.Semaphore(1)

    async def handler(task):
        await gate.acquire()

    worker = await ax.worker(handler=handler, pulls=1)
    await ax.settled(1, 15)
    for i in range(20):
        await ax.submit("x", f"high-{i}", "high")
    await eventually(lambda: len(worker.starts) == 2, 10)
    await ax.submit("x", "second", "urgent")
    await eventually(lambda: told(ax), 10, "the server has told dispatch of the urgent task")
    gate.release()
    await eventually(lambda: len(worker.starts) == 3, 10)
    assert worker.starts[2].key == "second", worker.starts[2].key
    for _ in range(30):
        gate.release()
    await ax.settled(22, 15)


async def told(ax):
    return (await ax.consumer("AX_URGENT", "email"))["num_ack_pending"] == 1


run(test)
