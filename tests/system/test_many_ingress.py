# Three ingress instances share the load; the same key submitted to all of them at once is one task.
# ctest: timeout=120
import asyncio
import collections

from harness import run


async def test(ax):
    await ax.pool("email")
    connections = [await ax.connect(f"producer-{i}") for i in range(6)]
    answers = await asyncio.gather(*(ax.submit(f"from {c}", f"k{i}", priority=("high", "normal", "low")[c % 3],
                                               nc=connections[c], retry=True)
                                     for i in range(300) for c in range(6)))
    fresh = [a for a in answers if not a["duplicate"]]
    ids = collections.Counter(a["task"] for a in answers)
    assert len(ids) == 300 and set(ids.values()) == {6}, ids.most_common(2)
    # One priority each at most: the same key in two queues in the same milliseconds ends well all the same.
    print(f"{len(fresh)} stored for 300 keys")
    worker = await ax.worker(pulls=8)
    await ax.settled(300, 40)
    runs = collections.Counter(t.key for t in worker.starts)
    assert len(runs) == 300 and max(runs.values()) == 1, runs.most_common(3)
    served = [d.metric("ax_submissions_total") for d in ax.ingresses]
    print(served)
    if all(s is not None for s in served):
        assert min(served) > 100, f"the instances did not share the load: {served}"
    # One goes away in order, while producers push: no answer is missing.
    push = asyncio.create_task(ax.push([(f"p{i}", "x") for i in range(2000)], producers=2, window=20))
    await asyncio.sleep(0.2)
    assert ax.ingresses[1].stop() == 0
    result = await push
    assert result["unknown"] == 0, f"{result['unknown']} submissions got no answer from an instance that was stopped"
    await ax.settled(2300, 40)


run(test, ingress=3)
