# Credentials that expire while the daemons and `ax work` run, and are replaced some seconds later: the file is read again,
# and the same processes go on.
# ctest: timeout=90
import asyncio

from harness import eventually, own
from security import jwt_server, run, write_creds


def prepare(ax):
    ax.config, ax.creds, ax.connect_options = jwt_server(ax.directory)
    ax.env["NATS_CREDS"] = ax.creds


async def test(ax):
    write_creds(ax.creds, expires=6)
    processes = ax.ingress, ax.dispatch
    for p in processes:
        await p.restart(hard=False)
    work = ax.spawn("work", [own("ax"), "work", "email", "--exec", "true"])
    pids = [p.p.pid for p in (*processes, work)]
    for p in (*processes, work):
        await eventually(lambda p=p: "NATS refuses this connection" in p.log(), 15, f"{p.name} is refused")
    await eventually(lambda: all(p.get("/readyz")[0] == 503 for p in processes), 5)
    write_creds(ax.creds)
    await asyncio.gather(*(p.ready(8) for p in processes))
    await ax.command(own("ax"), "submit", "--pool", "email", "--key", "k", "x")

    async def done():
        return "done" in await ax.command(own("ax"), "status", "--pool", "email", "k", check=False)
    await eventually(done, 8, "the task is worked")
    assert [p.p.pid for p in (*processes, work)] == pids and work.stop() == 0


run(test, prepare)
