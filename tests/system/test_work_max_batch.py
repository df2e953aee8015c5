# ax work keeps to what an operator allows a pull request: max_batch and max_expires of the pool's consumer.
import os

from harness import eventually, own, run

WAITS = 'echo "runs $AX_KEY"; while ! [ -e go ]; do sleep .1; done'


async def test(ax):
    await ax.pool("p")
    await ax.edit_consumer("AX_WORK", "p", max_batch=2, max_expires=2_000_000_000)
    worker = ax.spawn("work", [own("ax"), "work", "p", "--exec", WAITS, "--concurrency", "5"])
    for i in range(5):
        await ax.submit("x", f"k{i}", "high", "p")
    await eventually(lambda: worker.log().count("runs k") == 5, 20, "five commands run at a time")
    open(os.path.join(ax.directory, "go"), "w").close()
    await ax.settled(5)
    await eventually(lambda: pulling(ax), 10, "it asks for more")
    assert worker.stop() == 0


async def pulling(ax):
    return (await ax.consumer("AX_WORK", "p"))["num_waiting"] > 0


run(test)
