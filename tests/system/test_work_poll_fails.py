# ax work that is not told what is ready (poll refuses more files than RLIMIT_NOFILE): its commands go on and are
# acknowledged, and it stops when told.
import os
import resource

from harness import eventually, own, run

WAITS = 'echo "runs $AX_KEY"; while ! [ -e go ]; do sleep .1; done'


async def test(ax):
    await ax.pool("p", {"max_retry": 0, "max_timeouts": 0}, ack_wait=1)
    worker = ax.spawn("work", [own("ax"), "work", "p", "--exec", WAITS, "--concurrency", "3"])
    for i in range(3):
        await ax.submit("x", f"k{i}", "high", "p")
    await eventually(lambda: worker.log().count("runs k") == 3, 20, "three commands run")
    limits = resource.prlimit(worker.p.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(worker.p.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    await eventually(lambda: 'msg="poll failed"' in worker.log(), 10, "poll fails, which is said")
    open(os.path.join(ax.directory, "go"), "w").close()
    await ax.settled(3)
    assert worker.log().count("runs k") == 3, worker.log()
    assert worker.stop() == 0
    assert worker.log().count('msg="poll failed"') == 1, worker.log()


run(test)
