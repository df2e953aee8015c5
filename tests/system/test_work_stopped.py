# ax work: a command that a stop of the worker ends has not failed. SIGTERM to every process of the unit, the commands
# first, twice; a second SIGTERM to the worker alone: each task is given back, and runs in the next worker although it
# has no retry. A command that fails by itself meanwhile has failed.
# ctest: sanitize=address
import os
import signal

from harness import eventually, own, run
from processes import processes

WAITS = 'echo "runs $AX_KEY $$"; case $AX_KEY in ' \
        '*-exec) exec sleep 100;; *-code) sleep 100; exit $?;; *-trap) trap "exit 1" TERM; sleep 100 & wait;; ' \
        '*-child) (trap "" TERM; for i in $(seq 600); do sleep .1; done) & sleep 100;; ' \
        '*-fails) while ! [ -e fail ]; do sleep .1; done; exit 1;; esac'


def running(worker):
    return {line.split()[1]: int(line.split()[2]) for line in worker.log().splitlines() if line.startswith("runs ")}


def groups(worker):
    """Every process of these commands."""
    return [pid for pid, _, _, group in processes() if group in running(worker).values()]


async def start(ax, name, pool, tasks, *args):
    worker = ax.spawn(name, [own("ax"), "work", pool, "--exec", WAITS, "--concurrency", "4"])
    await eventually(lambda: len(running(worker)) == tasks, 20, f"{tasks} commands run")
    return worker


async def test(ax):
    await ax.pool("unit", {"max_retry": 1, "backoff": "100ms"})
    for key in ("unit-exec", "unit-code", "unit-child"):
        await ax.submit("x", key, "high", "unit")
    for i in range(2):
        worker = await start(ax, f"work-unit-{i}", "unit", 3)
        for pid in [*groups(worker), worker.p.pid, *groups(worker), worker.p.pid]:
            os.kill(pid, signal.SIGTERM) if os.path.exists(f"/proc/{pid}") else None
        assert worker.p.wait(10) == 0
        worker.p = None
        assert "given_back=3" in worker.log() and "failed=0" in worker.log(), worker.log()
    last = ax.spawn("work-unit", [own("ax"), "work", "unit", "--exec", 'echo "runs $AX_KEY $AX_ATTEMPT"'])
    await ax.settled(3)
    assert set(running(last).values()) == {3}, running(last)
    assert ax.dispatch.metric('ax_given_back_total{pool="unit"}') == 6
    assert last.stop() == 0

    await ax.pool("twice", {"max_retry": 0})
    for key in ("twice-exec", "twice-code", "twice-trap", "twice-fails"):
        await ax.submit("x", key, "high", "twice")
    worker = await start(ax, "work-twice", "twice", 4)
    worker.p.send_signal(signal.SIGTERM)
    await eventually(lambda: "msg=stopping" in worker.log(), 10, "stopping")
    open(os.path.join(ax.directory, "fail"), "w").close()
    await eventually(lambda: "msg=\"command failed\"" in worker.log(), 10, "one fails by itself")
    assert worker.stop() == 0  # the second one
    assert "given_back=3" in worker.log() and "failed=1" in worker.log(), worker.log()
    last = ax.spawn("work-last", [own("ax"), "work", "twice", "--exec", 'echo "runs $AX_KEY $AX_ATTEMPT"'])
    await ax.settled(6, dead=1)
    assert running(last) == {f"twice-{how}": 2 for how in ("exec", "code", "trap")}, running(last)
    assert last.stop() == 0


run(test)
