# ax work on a machine that cannot start a command (a process limit, no files left, no memory for the exec): tasks are
# given back without a retry spent, the pull requests become few, one line says so, and it goes on when it can.
# ctest: sanitize=address
import os
import resource
import subprocess

from harness import eventually, own, run

TASKS = 20
WARNING = "commands cannot be started"


async def start(ax, pool, command, prefix=(), env=None):
    await ax.pool(pool, {"max_retry": 0})
    worker = ax.spawn(f"work-{pool}", [*prefix, own("ax"), "work", pool, "--exec", command, "--concurrency", "4"], env)
    await eventually(lambda: "msg=working" in worker.log(), 20, "ax work started")
    return worker


async def goes_on(ax, pool, worker, forbid, allow, done):
    given_back = f'ax_given_back_total{{pool="{pool}"}}'
    forbid()
    for i in range(TASKS):
        await ax.submit("x", f"{pool}-{i}", "high", pool)
    await eventually(lambda: ax.dispatch.metric(given_back) >= 4, 20, "tasks are given back")
    await eventually(lambda: WARNING in worker.log(), 10, "and that is said")
    tries = ax.dispatch.metric(given_back)
    assert tries <= TASKS, f"{tries} tries: it does not wait"
    allow()
    await ax.settled(done)
    assert worker.log().count(WARNING) == 1, worker.log()
    assert "commands are started again" in worker.log(), worker.log()
    assert worker.stop() == 0


def unprivileged():
    """What runs a program as somebody whom limits bind."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []


async def no_process(ax):
    prefix = unprivileged()
    if prefix and subprocess.run([*prefix, own("ax"), "--version"], capture_output=True, check=False).returncode != 0:
        print("not tried: no other user here may run ax")
        return 0
    worker = await start(ax, "processes", "true", prefix)
    pid = worker.p.pid

    def limit(processes):
        subprocess.run([*prefix, "prlimit", "--pid", str(pid), f"--nproc={processes}:"], check=True)

    before = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    await goes_on(ax, "processes", worker, lambda: limit(1),
                  lambda: limit(before if before != resource.RLIM_INFINITY else "unlimited"), TASKS)
    return TASKS


async def no_files(ax, before):
    worker = await start(ax, "files", "true")
    pid = worker.p.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    await goes_on(ax, "files", worker, lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard)),
                  lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard)), before + TASKS)


async def no_exec(ax, before):
    """There is a process, which never becomes the command: the environment is too large for its stack."""
    worker = await start(ax, "exec", "true", env={f"LARGE_{i}": "x" * 100_000 for i in range(3)})
    pid = worker.p.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_STACK)
    await goes_on(ax, "exec", worker, lambda: resource.prlimit(pid, resource.RLIMIT_STACK, (512 * 1024, hard)),
                  lambda: resource.prlimit(pid, resource.RLIMIT_STACK, (soft, hard)), before + TASKS)


async def test(ax):
    done = await no_process(ax)
    await no_files(ax, done)
    await no_exec(ax, done + TASKS)


run(test)
