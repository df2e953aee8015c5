# A server that refuses a running process more than once in a row: the password is changed and changed back, the user is
# missing for one start of the server. The daemons and `ax work` go on within seconds, in the same process. When the
# password of the file has changed for good, they end with 1 and say so: a new start reads it.
# ctest: timeout=120
import asyncio
import os
import signal
import time

from harness import eventually, own
from security import run

GOOD = 'user: ax, password: "one-one"'


def prepare(ax):
    ax.config = f"authorization {{ {GOOD} }}"
    ax.file = os.path.join(ax.directory, "password")
    write(ax.file, "one-one")
    ax.env.update(NATS_USER="ax", NATS_PASSWORD_FILE=ax.file)
    ax.connect_options = {"user": "ax", "password": "one-one"}


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o600)


def authorize(ax, text):
    with open(ax.server.argv[-1]) as f:
        lines = f.read().split("authorization")[0]
    write(ax.server.argv[-1], f"{lines}authorization {{ {text} }}\n")


async def refused(ax, since):
    """All four connections (two of ingress) were refused several times, and say so."""
    def told():
        for p in (ax.ingress, ax.dispatch, ax.work):
            assert p.running(), f"{p.name} has ended:\n{p.log()}"
            assert "NATS refuses this connection" in p.log()[since[p.name]:], p.name
        return True
    await eventually(told, 10, "each process heard that it is refused")
    await asyncio.sleep(2)  # time in which nats.c by itself would have given up: the point of the test


async def works(ax, key, seconds=8):
    pids = [p.p.pid for p in (ax.ingress, ax.dispatch, ax.work)]
    began = time.monotonic()
    await asyncio.gather(ax.ingress.ready(seconds), ax.dispatch.ready(seconds))
    await ax.command(own("ax"), "submit", "--pool", "email", "--key", key, "x")

    async def done():
        return "done" in await ax.command(own("ax"), "status", "--pool", "email", key, check=False)
    await eventually(done, seconds, f"{key} is worked")
    assert [p.p.pid for p in (ax.ingress, ax.dispatch, ax.work)] == pids
    print(f"{key}: worked again after {time.monotonic() - began:.1f} s", flush=True)


def marks(ax):
    return {p.name: len(p.log()) for p in (ax.ingress, ax.dispatch, ax.work)}


async def test(ax):
    ax.work = ax.spawn("work", [own("ax"), "work", "email", "--exec", "true"])
    await works(ax, "before", 20)
    since = marks(ax)
    authorize(ax, 'user: ax, password: "two-two"')
    ax.server.p.send_signal(signal.SIGHUP)
    await refused(ax, since)
    authorize(ax, GOOD)
    ax.server.p.send_signal(signal.SIGHUP)
    await works(ax, "reloaded")

    since = marks(ax)
    ax.server.stop()
    authorize(ax, 'user: somebody, password: "else-else"')
    ax.server.start()
    await refused(ax, since)
    ax.server.stop()
    authorize(ax, GOOD)
    ax.server.start()
    await works(ax, "restarted")

    # For good: stops at once while it is refused; else ends by itself once the file has what the server wants.
    standby = ax.daemon("ax-ingress", 1)
    await standby.ready()
    authorize(ax, 'user: ax, password: "two-two"')
    ax.server.p.send_signal(signal.SIGHUP)
    await eventually(lambda: "NATS refuses this connection" in standby.log(), 10)
    began = time.monotonic()
    assert standby.stop() == 0
    assert time.monotonic() - began < 4, "a daemon that is refused takes long to stop"
    write(ax.file, "two-two")
    for p in (ax.ingress, ax.dispatch, ax.work):
        await eventually(lambda: not p.running(), 10, f"{p.name} ends")
        assert p.p.returncode == 1 and "ending" in p.log().splitlines()[-1], (p.name, p.p.returncode, p.log()[-800:])
        p.start()
    await works(ax, "new-password", 20)
    assert ax.work.stop() == 0


run(test, prepare)
