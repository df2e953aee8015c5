# With 1,000 low tasks waiting and one high submitted, the next task started is the high one.
# ctest: timeout=120
# ctest: sanitize
import asyncio

from harness import eventually, run


async def test(ax):
    await ax.pool("email", {"batch": 1})
    await asyncio.gather(*(ax.submit(str(i), f"low-{i}", "low") for i in range(1000)))
    assert await ax.messages("AX_LOW") == 1000
    gate = asyncio.Semaphore(0)

    async def handler(task):
        await gate.acquire()

    worker = await ax.worker(handler=handler, pulls=1)
    await eventually(lambda: len(worker.starts) == 1, 10, "the worker is busy with a low task")
    for round_number in range(1, 21):
        key = f"high-{round_number}"
        await ax.submit("x", key, "high")
        await ax.submit("x", f"normal-{round_number}", "normal")
        await eventually(lambda: told(ax), 10, "the server has told dispatch of the high and the normal task")
        before = len(worker.starts)
        gate.release()
        await eventually(lambda: len(worker.starts) == before + 1, 10, "the next task started")
        assert worker.starts[-1].key == key, f"round {round_number}: {worker.starts[-1].key} came before {key}"
        gate.release()
        await eventually(lambda: len(worker.starts) == before + 2, 10, "the task after it started")
        assert worker.starts[-1].key == f"normal-{round_number}", worker.starts[-1].key
        gate.release()  # one low task between the rounds
        await eventually(lambda: len(worker.starts) == before + 3, 10, "a low task started")
    # Oldest first within a priority.
    low = [int(t.body) for t in worker.starts if t.priority == "low"]
    assert low == sorted(low), low
    for _ in range(2000):
        gate.release()


async def told(ax):
    """Stored is not yet told: the server's consumers deliver on threads of their own, in no order among streams."""
    return all([(await ax.consumer(stream, "email"))["num_ack_pending"] == 1 for stream in ("AX_HIGH", "AX_NORMAL")])


run(test)
