"""Shared by the tests with several dispatchers: who leads what."""
import asyncio
import time

from harness import eventually


def led_by(daemon):
    """Pools that this dispatcher says it leads."""
    if not daemon.running():
        return set()
    text = daemon.get("/metrics")[1]
    return {line.split('pool="')[1].split('"')[0] for line in text.splitlines()
            if line.startswith("ax_pool_led{") and line.endswith(" 1")}


def leader(ax, pool):
    """The one dispatcher that leads the pool; fails when it is none or several."""
    found = [d for d in ax.dispatches if led_by(d) >= {pool}]
    assert len(found) == 1, f"{pool} is led by {[d.name for d in found]}"
    return found[0]


async def shares(ax, pools, wanted, seconds):
    """Waits until the pools are spread as `wanted` says (sorted numbers), each led once; returns {name: pools}."""
    def check():
        led = {d.name: led_by(d) & pools for d in ax.dispatches if d.running()}
        every = sorted(p for s in led.values() for p in s)
        assert every == sorted(pools), led
        assert sorted(len(s) for s in led.values()) == sorted(wanted), led
        return led
    return await eventually(check, seconds, f"pools spread {wanted}")


class Load:
    """Keyed tasks, a few at a time, until stopped."""

    def __init__(self, ax, pool, window=20):
        self.ax, self.pool, self.window = ax, pool, window
        self.count, self.stopping = 0, False

    def start(self):
        self.jobs = [asyncio.create_task(self._push()) for _ in range(self.window)]
        return self

    async def _push(self):
        while not self.stopping:
            number = self.count
            self.count += 1
            await self.ax.submit(f"body {number}", f"order-{number}", pool=self.pool, retry=True)

    async def stop(self):
        self.stopping = True
        await asyncio.gather(*self.jobs)
        return self.count


async def first_start_after(worker, fence, seconds):
    """Waits for a start with a fencing token above `fence`; its time."""
    begin = len(worker.starts)

    def check():
        return next((t for t in worker.starts[max(0, begin - 1000):] if t.fence > fence), None)
    return (await eventually(check, seconds, "a task started by the new leader", every=0.005)).started


def now():
    return time.monotonic()
