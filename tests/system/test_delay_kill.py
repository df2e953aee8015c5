# kill -9 of the server while schedules wait, started again after they were due: each fires once. Ingress and dispatch
# killed at random meanwhile, and again while tasks come due.
# ctest: timeout=240
import asyncio
import random
import time

from harness import SLOW, eventually, run
from lateness import Starts, report, submit_at

COUNT = 600


async def kill_at_random(ax, chance, until):
    """kill -9 of ingress or dispatch, again and again, each started at once; how often."""
    kills = 0
    while not until():
        await asyncio.sleep(chance.uniform(0.2, 1.2))
        victim = chance.choice((ax.ingress, ax.dispatch))
        victim.kill()
        victim.start()
        kills += 1
    return kills


async def test(ax):
    seed = int(time.time())
    chance = random.Random(seed)
    print(f"seed {seed}")
    await ax.pool("email", {"batch": 20})
    starts = Starts()
    worker = await ax.worker(handler=starts)

    # The server is away while they become due.
    begin = time.time() + 4 * SLOW
    due = {f"away-{i}": begin + chance.uniform(0, 2) for i in range(COUNT)}
    await submit_at(ax, due)
    assert time.time() < begin, "submitting took too long: some were due already"
    ax.server.kill()
    kills = await kill_at_random(ax, chance, lambda: time.time() > begin + 3)
    assert not worker.starts, "a task ran before its time"
    back = time.time()
    ax.server.start()
    await ax.server_ready()
    kills += await kill_at_random(ax, chance, lambda: time.time() > back + 4 * SLOW)
    await ax.ingress.ready()
    await ax.dispatch.ready()
    await ax.settled(COUNT, 60)  # a killed ingress' due tasks come back when their lease ends
    report(f"due while the server was away, {kills} kills", starts.lateness(due))
    assert not [k for k in starts.at if k not in due], "a task that nobody submitted"

    # The same keys are done, over all the deaths.
    again = await ax.submit("x", "away-0", headers={"Ax-Delay": "5m"})
    assert again["duplicate"] is True and again["state"] == "done", again

    # The server stays; its two clients die while tasks come due.
    begin = time.time() + 4 * SLOW
    due = {f"here-{i}": begin + chance.uniform(0, 6) for i in range(COUNT)}
    await submit_at(ax, due)
    kills = await kill_at_random(ax, chance, lambda: time.time() > begin + 6)
    assert kills >= 4, f"only {kills} kills"
    await ax.ingress.ready()
    await ax.dispatch.ready()
    await ax.settled(2 * COUNT, 60)
    report(f"ingress and dispatch died {kills} times", starts.lateness(due))
    await eventually(lambda: ax.ingress.metric("ax_ingress_later_ids") == 0, 15, "nobody is believed to wait")


run(test, 220)
