# ax up: the ready line, health, a dead child that is started again, a clean stop, nothing left when ax up or its parent
# is killed. What was stored is there after a restart, and what cannot work is named.
# ctest: sanitize=address
import json
import os
import signal
import urllib.error
import urllib.request

import nats

from harness import SLOW, eventually, free_port, own, run
from up import Up, alive


def readyz(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


async def run_task(ax, url, key):
    """Submits and works one task on the server at url."""
    nc = await nats.connect(url, max_reconnect_attempts=-1, reconnect_time_wait=0.05)
    try:
        async def submitted():
            reply = json.loads((await nc.request("ax.submit.high", b"x", headers={"Nats-Msg-Id": key}, timeout=2)).data)
            assert "error" not in reply, reply
            return True
        await eventually(submitted, 30, "a task is taken")
        js = nc.jetstream()
        sub = await js.pull_subscribe_bind("default", stream="AX_WORK")
        msg = (await sub.fetch(1, timeout=30 * SLOW))[0]
        await msg.ack()

        async def ended():
            return (await js.stream_info("AX_HIGH")).state.messages == 0
        await eventually(ended, 30, f"task {key} has ended")
    finally:
        await nc.close()


async def lives(ax):
    http = free_port()
    up = await Up(ax, "up", "--port", "0", "--store", "up-store", "--http", str(http)).ready()
    await eventually(lambda: readyz(http)[0] == 200, 10, "ready over HTTP")
    await run_task(ax, up.url, "one")
    first = up.pids()
    assert set(first) == {"nats-server", "ax-ingress", "ax-dispatch"}, first

    # A child that dies is started again; until then it is not ready and says why.
    for name in ("ax-dispatch", "ax-ingress"):
        os.kill(up.pids()[name], signal.SIGKILL)
        await eventually(lambda n=name: readyz(http)[0] == 503 and n in readyz(http)[1], 10, f"{name} reported")
        await eventually(lambda: readyz(http)[0] == 200, 30, f"{name} is back")
        assert up.pids()[name] != first[name]
    await run_task(ax, up.url, "two")
    os.kill(up.pids()["nats-server"], signal.SIGKILL)
    await eventually(lambda: up.pids()["nats-server"] != first["nats-server"], 20, "the server is back")
    await eventually(lambda: readyz(http)[0] == 200, 30, "all is ready after the server's death")
    await run_task(ax, up.url, "three")

    # The store is taken.
    second = Up(ax, "second", "--port", "0", "--store", "up-store")
    assert await second.ended() == 1 and "in use by another" in second.log(), second.log()

    pids = list(up.pids().values())
    up.p.send_signal(signal.SIGTERM)
    assert await up.ended() == 0, up.log()[-2000:]
    assert not [p for p in pids if alive(p)], "processes are left after a clean stop"
    order = [up.log().rfind(f"[{up.pids()['nats-server']}]"), up.log().rfind("program=ax-dispatch")]
    assert order[1] >= 0 and order[0] > order[1], "the server has to be the last to stop"

    # What was done is still known.
    up = await Up(ax, "again", "--port", "0", "--store", "up-store").ready()
    out = await ax.command(own("ax"), "submit", "--server", up.url, "--priority", "high", "--key", "one", "--json", "x")
    assert json.loads(out.splitlines()[-1])["state"] == "done", out
    up.p.send_signal(signal.SIGINT)
    assert await up.ended() == 0


async def killed(ax):
    up = await Up(ax, "killed", "--port", "0", "--store", "killed-store").ready()
    pids = list(up.pids().values())
    up.p.kill()
    await up.ended()
    await up.none_left(pids)

    # Its parent is killed: a clean stop.
    up = await Up(ax, "orphan", "--port", "0", "--store", "killed-store", parent=True).ready()
    pids = list(up.pids().values())
    up.p.kill()
    await up.ended()
    await up.none_left(pids)
    assert "parent process has ended" in up.log(), up.log()


async def refused(ax):
    async def fails(name, *args, env=None):
        return await Up(ax, name, *args, env=env).refused()

    code, said = await fails("port-taken", "--port", str(ax.port), "--store", "taken")
    assert code == 1 and len(said) == 1 and "ended while starting" in said[0], said
    with open(os.path.join(ax.directory, "old-server"), "w") as f:
        f.write("#!/bin/sh\necho 'nats-server: v2.10.29'\n")
    os.chmod(os.path.join(ax.directory, "old-server"), 0o755)
    code, said = await fails("old", "--port", "0", "--store", "old",
                             env={"AX_NATS_SERVER": os.path.join(ax.directory, "old-server")})
    assert code == 1 and len(said) == 1 and "2.10.29" in said[0] and "2.14.3" in said[0], said
    code, said = await fails("missing", "--port", "0", "--store", "old", env={"AX_NATS_SERVER": "/no/such/server"})
    assert code == 1 and len(said) == 1 and "/no/such/server" in said[0], said
    code, said = await fails("none", "--port", "0", "--store", "old",
                             env={"AX_NATS_SERVER": "", "PATH": "/nowhere", "XDG_CACHE_HOME": "/nowhere"})
    assert code == 1 and len(said) == 1 and "no nats-server found" in said[0], said
    code, said = await fails("http-taken", "--port", "0", "--store", "old", "--http", str(ax.port))
    assert code == 1 and len(said) == 1 and str(ax.port) in said[0], said
    code, said = await fails("store", "--port", "0", "--store", "/proc/no")
    assert code == 1 and len(said) == 1 and "/proc/no" in said[0], said
    code, said = await fails("range", "--port", "70000")
    assert code == 2 and len(said) == 1 and "--port" in said[0], said


async def test(ax):
    await lives(ax)
    await killed(ax)
    await refused(ax)


run(test, ingress=0, dispatch=0)
