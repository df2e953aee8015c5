# Groups take turns in each priority: by their weights, to within 5%; a task of a group with few waits for its turn, not
# for the thousands of another that came before it; tasks that name no group take turns as one more.
# ctest: sanitize
# ctest: timeout=240
import asyncio
import collections

from harness import SANITIZE, eventually, run

MANY = 1000 if SANITIZE else 3000


def group(task):
    return task.headers.get("Ax-Group", "")


async def test(ax):
    await ax.pool("email", {"group_weights": {"gold": 3, "silver": 2}})

    async def push(count, name, priority="low", pool="email"):
        headers = {"Ax-Group": name} if name else None
        for start in range(0, count, 100):
            await asyncio.gather(*(ax.submit(f"{name}", headers=headers, priority=priority, pool=pool)
                                   for _ in range(min(100, count - start))))

    # By weight. All wait before the first worker comes; gold, 3, was the last to come.
    for name in ("bronze", "", "silver", "gold"):
        await push(300, name)
    worker = await ax.worker(pulls=4)
    await eventually(lambda: len(worker.starts) == 1200, 90, "all started")
    counts = collections.Counter(group(t) for t in worker.starts[:490])  # 70 rounds of 7
    for name, weight in {"gold": 3, "silver": 2, "bronze": 1, "": 1}.items():
        share = counts[name] / (70 * weight)
        print(f"{name or 'no group'}: {counts[name]} of 490, {share:.3f} of its part")
        assert 0.95 <= share <= 1.05, counts
    await ax.settled(1200, 30)

    # Few behind many: each of them starts within a few starts of its arrival.
    started = []

    async def slowly(task):
        started.append(group(task))
        await asyncio.sleep(0.01)

    await ax.pool("sms")
    await push(MANY, "large", pool="sms")
    other = await ax.worker("sms", slowly, pulls=4)
    await eventually(lambda: len(started) > 20, 20, "large at work")
    behind = []
    while len(behind) < 20 and started.count("large") < MANY - 200:
        before = len(started)
        await push(1, "small", pool="sms")
        await eventually(lambda b=before: "small" in started[b:], 20, "small's task started", every=0.001)
        behind.append(started[before:].index("small"))
    print(f"starts of large between small's submission and its start: {behind}")
    assert len(behind) >= 5, "large was done before small came: it showed nothing"
    assert sorted(behind)[len(behind) // 2] <= 20, behind
    await other.stop()

    # Strict rank stays above turns: a higher priority goes first, whatever the group.
    order = []

    async def note(task):
        order.append(task.headers["Ax-Priority"])

    await ax.pool("push", {"share": 0})
    await push(50, "a", "low", "push")
    await push(50, "b", "high", "push")
    await ax.worker("push", note, pulls=1)
    await eventually(lambda: len(order) == 100, 20, "both priorities done")
    assert order == ["high"] * 50 + ["low"] * 50, order


run(test, 200)
