# ax work reaps what commands leave behind, whose parent it becomes: as process 1 of a container, and else, where process
# 1 might not.
import subprocess

from harness import eventually, own, run
from processes import children

TASKS = 10
LEAVES = "(sleep .2; echo left) & (echo also left) & echo ran"
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]


async def reaps(ax, name, prefix):
    worker = ax.spawn(name, [*prefix, own("ax"), "work", name, "--exec", LEAVES, "--concurrency", "3"])
    await eventually(lambda: "msg=working" in worker.log(), 20, "ax work started")
    pid = worker.p.pid if not prefix else next(iter(children(worker.p.pid)))
    for i in range(TASKS):
        await ax.submit("x", f"{name}-{i}", "high", name)
    await eventually(lambda: worker.log().count("left\n") == 2 * TASKS, 30, "all ran, and what they left")
    await eventually(lambda: len(children(pid)) == 1, 10, f"only the guard is there: {children(pid)}")
    assert "Z" not in children(pid).values(), children(pid)
    worker.p.send_signal(15) if not prefix else subprocess.run(["kill", str(pid)], check=True)
    assert worker.p.wait(10) == 0
    worker.p = None


async def test(ax):
    await reaps(ax, "reaper", [])
    try:
        subprocess.run([*UNSHARE, "true"], check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"not tried as process 1: {error}")
        return
    await reaps(ax, "first", UNSHARE)


run(test)
