# A pool's consumers: made as docs/ says, brought back when deleted, max_deliver repaired, ack_wait followed; the rest
# stays as an operator set it.
# ctest: sanitize
from harness import QUEUES, eventually, run

S = 10**9


async def test(ax):
    await ax.pool("email")
    work = (await ax.consumer("AX_WORK", "email"))["config"]
    assert work["filter_subject"] == "ax.work.email.>", work
    assert (work["max_deliver"], work["ack_wait"], work["max_ack_pending"]) == (1, 30 * S, 1000), work
    for priority, stream in QUEUES.items():
        queue = (await ax.consumer(stream, "email"))["config"]
        assert queue["filter_subject"] == f"ax.queue.{priority}.email.>", queue
        assert queue["ack_wait"] == 33 * S, queue
        assert (queue["max_deliver"], queue["max_ack_pending"]) == (-1, -1), queue
        assert not queue.get("inactive_threshold"), queue

    # An operator's changes, with the nats CLI.
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--wait", "60s", "--max-pending", "7", "-f")
    for stream in QUEUES.values():
        async def follows(s=stream):
            return (await ax.consumer(s, "email"))["config"]["ack_wait"] == 66 * S
        await eventually(follows, 15, f"ack_wait on {stream} follows")
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--max-deliver", "5", "-f")

    async def repaired():
        return (await ax.consumer("AX_WORK", "email"))["config"]["max_deliver"] == 1
    await eventually(repaired, 15, "max_deliver is 1 again")
    work = (await ax.consumer("AX_WORK", "email"))["config"]
    assert (work["ack_wait"], work["max_ack_pending"]) == (60 * S, 7), work
    await eventually(lambda: "max_deliver" in ax.dispatch.log(), 5, "it is said in the log")

    # Deleted ones come back, and tasks go through them.
    await ax.cli("consumer", "rm", "AX_LOW", "email", "-f")
    await ax.cli("consumer", "rm", "AX_WORK", "email", "-f")
    for stream in ("AX_LOW", "AX_WORK"):
        await eventually(lambda s=stream: ax.consumer(s, "email"), 15, f"consumer on {stream} is back")
    await ax.worker("email")
    for priority in QUEUES:
        await ax.submit("x", f"key-{priority}", priority)
    await ax.settled(done=3)


run(test)
