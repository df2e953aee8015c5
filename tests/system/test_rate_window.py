# Rate 50, burst 10: never more than 10 + 50·t + 1 starts in any window of t seconds over 60 s, retries counted, and at
# least 98% of 50/s; `nats kv put` changes the rate within a second.
# ctest: serial
# ctest: timeout=150
import asyncio
import time

from harness import eventually, run

RATE, BURST, SECONDS = 50, 10, 60
# The server stores a hand-off a little after it was let go: two may come that much closer together.
SLACK_S = 0.015


def check_windows(times, rate, burst):
    """Any window [i, j]: j - i + 1 starts within times[j] - times[i]. O(n) by the running minimum of i - rate·t."""
    low = float("inf")
    worst = 0.0
    for j, t in enumerate(times):
        low = min(low, j - rate * t)
        worst = max(worst, (j - rate * t) - low + 1 - burst - 1)
    return worst


async def test(ax):
    await ax.pool("email", {"rate": RATE, "burst": BURST, "backoff": "1s", "max_retry": 2})

    async def feed():
        i = 0
        while True:
            await ax.submit("x", f"task-{i}", retry=True)
            i += 1
            if await_more(i):
                await asyncio.sleep(0.05)

    def await_more(i):
        return i - len(worker.starts) > 300

    async def handler(task):
        if int(task.key[5:]) % 10 == 0 and task.attempt == 1:
            return "nak"

    worker = await ax.worker(handler=handler, pulls=8)
    feeder = asyncio.create_task(feed())
    await eventually(lambda: len(worker.starts) > 0, 10, "the first start")
    begun = time.monotonic()
    await asyncio.sleep(SECONDS)  # this measures: there is no condition to wait for
    times = [t.started for t in worker.starts if t.started <= begun + SECONDS]
    handed = sorted(t.stored for t in worker.starts[:len(times)])
    over = check_windows(handed, RATE, BURST)
    reached = len([t for t in times if t > begun + 1]) / (SECONDS - 1)
    retries = sum(t.attempt > 1 for t in worker.starts)
    print(f"{len(times)} starts, {retries} of them retries, {reached:.2f}/s, worst window {over:+.2f}")
    assert retries > 100, retries
    assert over <= RATE * SLACK_S, f"a window had {over:.2f} hand-offs more than burst + rate·t + 1"
    assert reached >= 0.98 * RATE, f"{reached:.2f}/s of {RATE}/s"

    await ax.cli("kv", "put", "AX_POOLS", "email", '{"rate":100,"burst":10}')
    changed = time.monotonic()
    await asyncio.sleep(5)
    after = [t.started for t in worker.starts if changed + 1 < t.started <= changed + 5]
    first = len([t for t in worker.starts if changed < t.started <= changed + 1])
    print(f"after the change: {len(after) / 4:.1f}/s, first second {first}")
    assert 0.98 * 100 <= len(after) / 4 <= 100 * 1.02 + BURST / 4, f"{len(after) / 4:.1f}/s of 100/s"
    assert first > 60, f"{first} starts in the first second after the change"
    await ax.cli("kv", "put", "AX_POOLS", "email", '{"rate":10,"burst":1}')
    changed = time.monotonic()
    await asyncio.sleep(4)
    after = len([t for t in worker.starts if changed + 1 < t.started <= changed + 4])
    assert 28 <= after <= 32, f"{after} starts in 3 s at 10/s"
    feeder.cancel()


run(test, 130)
