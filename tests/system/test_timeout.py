# Ax-Timeout: the whole run of an attempt, in-progress or not: the attempt is revoked and counts as failed. It holds
# over a restart of dispatch.
# ctest: timeout=120
import asyncio

from harness import SLOW, eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"})
    revoked = []

    async def on_revoke(msg):
        revoked.append(int(msg.data))
    await ax.nc.subscribe("ax.revoke.>", cb=on_revoke)

    async def handler(task):
        for _ in range(400):  # alive, and says so
            await asyncio.sleep(0.05)
            await task.progress()
            if any(token > task.fence for token in revoked):
                return "silence"
        return "ack"

    worker = await ax.worker(handler=handler)
    await ax.submit("x", "long", headers={"Ax-Timeout": "1s", "Ax-Max-Retry": "1"})
    await eventually(lambda: is_dead(ax, 1), 20 * SLOW, "both attempts ran too long")
    assert len(worker.starts) == 2, len(worker.starts)
    gap = worker.starts[1].started - worker.starts[0].started
    assert 1.0 <= gap <= 2.5 * SLOW, f"the second attempt started {gap:.2f} s after the first"
    headers, _, _ = await ax.last("AX_DEAD", f"ax.dead.email.{worker.starts[0].id}")
    assert "timeout of 1s" in headers["Ax-Reason"], headers

    # A dispatcher that was restarted meanwhile counts from the hand-off.
    await ax.submit("x", "long too", headers={"Ax-Timeout": "2s", "Ax-Max-Retry": "0"})
    await eventually(lambda: len(worker.starts) == 3, 10, "it runs")
    await ax.dispatch.restart()
    await eventually(lambda: is_dead(ax, 2), 15 * SLOW, "it ran too long")
    assert len(worker.starts) == 3


async def is_dead(ax, count):
    return await ax.messages("AX_DEAD") == count


run(test)
