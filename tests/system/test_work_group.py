# ax work: what a command has started ends with it, whatever its leader does: a child that ignores SIGTERM is gone after
# the grace period when the attempt is cancelled, runs out of time, or its worker is told twice to stop; at once when the
# worker is killed, also after its guard was. A command that fails leaves nobody behind for its next attempt; one that
# ends well may.
# ctest: sanitize=address timeout=120
import os
import signal

from cli import good
from harness import eventually, own, run
from processes import alive_in_group, children

STUBBORN = "(trap '' TERM; echo ready $$; for i in $(seq 600); do sleep .1; done) & "
GRACE_S = 5


def lines(worker, word):
    return [line.split()[1:] for line in worker.log().splitlines() if line.startswith(word + " ")]


async def start(ax, pool, command, *args):
    worker = ax.spawn(f"work-{pool}", [own("ax"), "work", pool, "--exec", command, *args])
    await eventually(lambda: "msg=working" in worker.log(), 20, "ax work started")
    return worker


async def running(ax, pool, headers=None):
    """(worker, process group) of a command that waits, with a child that ignores SIGTERM."""
    await ax.pool(pool, {"backoff": "100ms", "max_timeouts": 0})
    worker = await start(ax, pool, STUBBORN + "wait")
    await ax.submit("x", "key", "high", pool, headers or {})
    [[group]] = await eventually(lambda: lines(worker, "ready"), 20, "the command runs")
    assert len(alive_in_group(int(group))) >= 2
    return worker, int(group)


async def gone(group, why, seconds=GRACE_S + 5):
    await eventually(lambda: not alive_in_group(group), seconds, f"{why}: the whole group is gone")


async def cancelled(ax):
    worker, group = await running(ax, "cancel")
    await good(ax, "cancel", "key", "--pool", "cancel")
    await gone(group, "cancelled")
    assert worker.stop() == 0


async def out_of_time(ax):
    worker, group = await running(ax, "limit", {"Ax-Timeout": "1s"})
    await gone(group, "out of time")
    assert worker.stop() == 0


async def told_twice(ax):
    worker, group = await running(ax, "twice")
    worker.p.send_signal(signal.SIGTERM)
    await eventually(lambda: "msg=stopping" in worker.log(), 10, "stopping")
    assert worker.stop() == 0  # the second one
    assert not alive_in_group(group), "ax work has ended, and its command's child has not"


async def killed(ax):
    worker, group = await running(ax, "kill")
    worker.kill()
    await gone(group, "kill -9 of the worker", 3)

    worker, group = await running(ax, "kill2")
    [guard] = [pid for pid in children(worker.p.pid) if comm(pid) == "task-guard"]
    os.kill(guard, signal.SIGKILL)
    await eventually(lambda: any(pid != guard and comm(pid) == "task-guard" for pid in children(worker.p.pid)), 10,
                     "another guard")
    worker.kill()
    await gone(group, "kill -9 of the guard and the worker", 3)


def comm(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f.read().strip()


async def failed(ax):
    await ax.pool("fail", {"backoff": "100ms"})
    worker = await start(ax, "fail", STUBBORN + 'sleep .3; test "$AX_ATTEMPT" != 1')
    await ax.submit("x", "key", "high", "fail")
    first, _ = await eventually(lambda: len(lines(worker, "ready")) == 2 and lines(worker, "ready"), 20, "tried again")
    assert not alive_in_group(int(first[0])), "the first attempt's child runs beside the second attempt"
    await ax.settled(1)
    [_, [second]] = lines(worker, "ready")
    assert alive_in_group(int(second)), "a command that ended well may leave something running"
    assert worker.stop() == 0
    assert alive_in_group(int(second))
    os.killpg(int(second), signal.SIGKILL)


async def test(ax):
    await failed(ax)
    await cancelled(ax)
    await out_of_time(ax)
    await told_twice(ax)
    await killed(ax)


run(test)
