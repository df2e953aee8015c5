# ax work that is stopped while there is no server: it waits for its acks to be confirmed, and when they are not, says so
# and ends with 1.
# ctest: sanitize=address
import os

from harness import eventually, own, run

WAITS = 'echo "runs $AX_KEY"; while ! [ -e go ]; do sleep .1; done'


async def test(ax):
    await ax.pool("p")
    worker = ax.spawn("work", [own("ax"), "work", "p", "--exec", WAITS])
    await ax.submit("x", "k", "high", "p")
    await eventually(lambda: "runs k" in worker.log(), 20, "the command runs")
    ax.server.stop()
    open(os.path.join(ax.directory, "go"), "w").close()
    assert worker.stop(30) == 1
    assert "has not confirmed all acks" in worker.log() and "acks=1" in worker.log(), worker.log()


run(test)
