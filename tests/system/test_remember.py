# Finished keys are known after a restart of both daemons, and to an instance that starts later; fresh keys need no
# read.
# ctest: timeout=120
import asyncio

from harness import run

COUNT = 3000


async def test(ax):
    await ax.pool("email", {"batch": 100})
    worker = await ax.worker(pulls=8, batch=10)
    await ax.push([(f"k{i}", "x") for i in range(COUNT)], producers=4)
    await ax.settled(COUNT, 40)
    await ax.ingress.restart(hard=False)
    await ax.dispatch.restart(hard=False)
    answers = await asyncio.gather(*(ax.submit("x", f"k{i}") for i in range(COUNT)))
    wrong = [a for a in answers if not (a["duplicate"] and a["state"] == "done")]
    assert not wrong, f"{len(wrong)} of {COUNT} finished keys were taken again: {wrong[:2]}"
    late = ax.daemon("ax-ingress", 1)
    ax.ingresses.append(late)
    await late.ready()
    ax.ingress.kill()
    answers = await asyncio.gather(*(ax.submit("x", f"k{i}") for i in range(COUNT)))
    assert all(a["duplicate"] for a in answers), "a later instance did not know finished keys"

    # A key that gets past ingress all the same (published into the queue by hand) is dropped before its start.
    task = answers[0]["task"]
    await ax.js.publish(f"ax.queue.high.email.{task}", b"x")
    await ax.settled(COUNT, 15)
    assert len(worker.starts) == COUNT, "a finished task was started again"


run(test)
