# Limits changed with the nats CLI take effect without a restart, and survive one.
# ctest: timeout=150
import asyncio

from harness import Refused, SLOW, eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"})
    mode = "silence"

    async def handler(task):
        if task.key.startswith("slow"):
            await release.wait()
            return "ack"
        return mode

    release = asyncio.Event()

    async def bound(limit, label):
        """Fills the queue; it takes exactly up to limit."""
        async def full():
            try:
                await ax.submit("x", f"{label}-{full.n}")
                full.n += 1
            except Refused as refused:
                assert f"({limit} tasks)" in str(refused), refused
                return True
        full.n = 0
        await eventually(full, 15, f"refused at {limit}")
        assert await ax.messages("AX_HIGH") == limit

    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "10", "-f")
    await bound(10, "a")
    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "25", "-f")
    await bound(25, "b")
    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "10", "-f")
    await ax.ingress.restart(hard=False)
    await ax.dispatch.restart(hard=False)
    assert (await ax.stream("AX_HIGH"))["config"]["max_msgs"] == 10, "a restart undid the operator's change"
    try:
        await ax.submit("x", "over")
        raise AssertionError("accepted over the limit")
    except Refused as refused:
        assert "(10 tasks)" in str(refused), refused

    # Concurrency: max_ack_pending.
    mode = "ack"
    worker = await ax.worker(handler=handler, pulls=8)
    await ax.settled(25, 20)
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--max-pending", "3", "-f")
    slow = lambda: sum(t.key.startswith("slow") for t in worker.starts)  # noqa: E731
    for i in range(3):
        await ax.submit("x", f"slow-{i}")
    await eventually(lambda: slow() == 3, 10)
    await asked(ax)
    for i in range(3, 8):
        await ax.submit("x", f"slow-{i}")
    await asyncio.sleep(1)  # nothing more may come
    assert slow() == 3 and await ax.messages("AX_WORK") <= 3, (slow(), await ax.messages("AX_WORK"))
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--max-pending", "6", "-f")
    await eventually(lambda: slow() == 6, 15, "six at work after the limit was raised")
    release.set()
    await ax.settled(33, 20)

    # ack_wait: short, so that silence comes back quickly; then long, so that it does not.
    mode = "silence"
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--wait", "2s", "-f")
    await eventually(lambda: lease(ax, 2, 5), 15, "the queue consumers' ack_wait followed")
    await ax.submit("x", "short")
    runs = lambda k: [t for t in worker.starts if t.key == k]  # noqa: E731
    await eventually(lambda: len(runs("short")) >= 2, 12, "timed out after 2 s and came again")
    gap = runs("short")[1].started - runs("short")[0].started
    assert 1.9 <= gap <= 2 + 5 * SLOW, gap
    mode = "ack"
    await ax.settled(34, 20)
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--wait", "60s", "-f")
    await eventually(lambda: lease(ax, 60, 90), 15, "the queue consumers' ack_wait followed")
    await ax.dispatch.restart(hard=False)
    assert (await ax.consumer("AX_WORK", "email"))["config"]["ack_wait"] == 60e9, "a restart undid the change"
    assert await lease(ax, 60, 90)
    mode = "silence"
    await ax.submit("x", "long")
    await eventually(lambda: runs("long"), 10)
    await asyncio.sleep(6)  # with the old 2 s it would have come again by now
    assert len(runs("long")) == 1, "timed out although ack_wait is 60 s"
    await worker.nc.publish(runs("long")[0].msg.reply, b"")
    await ax.settled(35, 10)

    # max_deliver is not the operator's: repaired, and said so.
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--max-deliver", "5", "-f")
    await eventually(lambda: repaired(ax), 15, "max_deliver repaired")
    await eventually(lambda: "max_deliver" in ax.dispatch.log() + ax.ingress.log(), 5, "the log says so")


async def asked(ax):
    """Waits until dispatch has read the consumer's settings (there is no advisory of a change)."""
    heard = asyncio.Event()

    async def on_request(msg):
        heard.set()
    nc = await ax.connect("listener")
    await nc.subscribe("$JS.API.CONSUMER.INFO.AX_WORK.email", cb=on_request)
    await asyncio.wait_for(heard.wait(), 6 * SLOW)
    await nc.close()
    await asyncio.sleep(0.1)  # the answer's way back


async def lease(ax, low, high):
    return low * 1e9 <= (await ax.consumer("AX_HIGH", "email"))["config"]["ack_wait"] <= high * 1e9


async def repaired(ax):
    return (await ax.consumer("AX_WORK", "email"))["config"]["max_deliver"] == 1


run(test, 140)
