# A start takes its token, is looked up or not, and is stored. When the server stops answering for a while, all starts
# begun meanwhile are stored at once afterwards. No window has more starts than the bucket allows for all that, be it
# the bucket of a pool or that of a group.
# ctest: timed
import asyncio

from harness import SLOW, eventually, run

RATE, BURST, TASKS, PAUSE_S = 50, 5, 300, 2


async def held_up(ax, pool, settings, looked_up=False, headers=None):
    async def push():
        await asyncio.gather(*(ax.submit("x", f"order-{i}" if looked_up else None, "normal", pool, headers) for i in range(TASKS)))

    await ax.pool(pool, settings, ack_wait=30)
    if looked_up:  # taken before the dispatcher led, which looks for the keys among dead letters, if there is one
        await ax.js.publish(f"ax.dead.{pool}.x1", b"", headers={"Ax-Priority": "high"})
        assert ax.dispatch.stop() == 0
        await push()
        ax.dispatch.start()
        await ax.dispatch.ready()
    else:
        ready = f'"pool ready" pool={pool}'  # what comes later is not looked up
        await eventually(lambda: ready in ax.dispatch.log(), 10, ready)
        await push()
    worker = await ax.worker(pool, pulls=150)
    await eventually(lambda: len(worker.starts) > 30, 20, "under way")
    ax.server.pause()
    await asyncio.sleep(PAUSE_S)
    ax.server.resume()
    await eventually(lambda: len(worker.finished) == TASKS, 40, "all done")
    assert len(worker.starts) == TASKS
    times = sorted(t.stored for t in worker.starts)
    over = max(j - i - BURST - RATE * (b - a) for i, a in enumerate(times) for j, b in enumerate(times[i:], i))
    print(f"{pool}: a window had {over:.1f} starts more than burst + rate·t + 1")
    # The way to the server may take longer for one than for another.
    assert over <= RATE * 0.05 * SLOW, f"{pool}: a window had {over:.1f} starts more than burst + rate·t + 1"


async def test(ax):
    await held_up(ax, "email", {"rate": RATE, "burst": BURST})
    await held_up(ax, "sms", {"rate": RATE, "burst": BURST}, looked_up=True)
    await held_up(ax, "push", {"group_rate": RATE, "group_burst": BURST}, headers={"Ax-Group": "tenant"})


run(test)
