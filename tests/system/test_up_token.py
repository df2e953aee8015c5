# ax up is open to this machine's users and says so in one line. With --token it is closed: the token is in its store for
# nobody else to read, in the ready line, and found by `ax` on the same store; it is in no log, on no command line and in
# no environment. A token that others can read is refused. Nothing listens beyond the loopback.
import json
import os
import re
import stat

import nats
import nats.errors

from harness import own, run
from up import Up, listening

LOOPBACK = {"0100007F", "00000000000000000000000001000000"}


def modes(directory):
    """{path: mode} of everything in a store, itself included."""
    found = {}
    for path, _, files in os.walk(directory):
        for name in (path, *(os.path.join(path, f) for f in files)):
            try:
                found[name] = stat.S_IMODE(os.lstat(name).st_mode)
            except FileNotFoundError:  # the server's, meanwhile gone
                pass
    return found


def check_private(directory):
    wide = {name: oct(mode) for name, mode in modes(directory).items() if mode & 0o077}
    assert not wide, f"others can read or write: {wide}"


async def connects(url):
    try:
        nc = await nats.connect(url, allow_reconnect=False, connect_timeout=5)
    except nats.errors.Error as error:
        assert "Authorization" in str(error), error
        return False
    await nc.close()
    return True


async def is_open(ax):
    up = await Up(ax, "open", "--port", "0", "--store", "open-store").ready()
    lines = [line for line in up.log().splitlines() if "--token" in line]
    assert len(lines) == 1 and "every user of this machine" in lines[0], lines
    assert await connects(up.url)
    assert listening([up.p.pid, *up.pids().values()]) <= LOOPBACK
    check_private(os.path.join(ax.directory, "open-store"))
    # The address is found by the store, too, while it runs.
    assert "11 streams" in await ax.command(own("ax"), "--store", "open-store", "init")
    await up.stop()
    out = await ax.command(own("ax"), "--store", "open-store", "init", check=False)
    assert "no `ax up` runs on" in out and "open-store" in out, out


def secret_is_nowhere(ax, up, token):
    assert token not in up.log(), [line for line in up.log().splitlines() if token in line]
    for pid in (up.p.pid, *up.pids().values()):
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as f:
                assert token.encode() not in f.read(), f"the token is in {name} of process {pid}"
    files = {name for name in modes(up.store) if os.path.isfile(name) and token in open(name, errors="replace").read()}
    assert {os.path.basename(f) for f in files} == {"token", "nats-server.conf", "url"}, files


async def is_found(ax, up):
    """`ax` on the same store, however it is named; and not without it."""
    bare = up.url.replace(up.url.split("//")[1].split("@")[0] + "@", "")
    assert not await connects(bare)
    assert await connects(up.url)
    out = await ax.command(own("ax"), "submit", "--store", up.store, "--key", "k", "--json", "x")
    assert json.loads(out.splitlines()[-1])["state"] == "queued", out
    for argv, env in ((["--store", up.store], {}), ([], {"AX_STORE": up.store, "NATS_URL": ""}),
                      ([], {"XDG_DATA_HOME": os.path.dirname(up.store), "NATS_URL": ""}),
                      (["--server", up.url], {}), ([], {"NATS_URL": up.url})):
        out = await ax.command(own("ax"), *argv, "status", "k", env=env)
        assert "queued" in out, (argv, env, out)
    out = await ax.command(own("ax"), "--server", bare, "status", "k", check=False)
    assert "Authorization Violation" in out, out
    out = await ax.command(own("ax"), "--server", bare, "--store", up.store, "status", "k", check=False)
    assert "only one of them" in out, out
    work = ax.spawn("work", [own("ax"), "work", "default", "--exec", "true", "--store", up.store])
    out = await ax.command("sh", "-c", f"until {own('ax')} --store {up.store} status k | grep -q done; do :; done")
    assert work.stop() == 0


async def is_closed(ax):
    store = os.path.join(ax.directory, "data", "ax")
    options = ("--token", "--port", "0", "--store", store)
    pattern = r"nats://[0-9A-Za-z_-]{32}@127\.0\.0\.1:\d+"
    up = await Up(ax, "closed", *options).ready(pattern)
    up.store = store
    token = re.search(r"//(.*)@", up.url)[1]
    assert open(os.path.join(store, "token")).read().strip() == token
    check_private(store)
    assert "every user of this machine" not in up.log()
    assert listening([up.p.pid, *up.pids().values()]) <= LOOPBACK
    await is_found(ax, up)
    secret_is_nowhere(ax, up, token)
    os.kill(up.pids()["ax-ingress"], 9)
    await up.stop()

    # The same one again. A start without --token has no use for it.
    up = await Up(ax, "again", *options).ready(pattern)
    assert f"{token}@" in up.url
    await up.stop()
    up = await Up(ax, "opened", *options[1:]).ready()
    assert await connects(up.url)
    await up.stop()


async def is_refused(ax):
    """A token that is none, or no secret any more."""
    store = os.path.join(ax.directory, "data", "ax")
    path = os.path.join(store, "token")
    token = open(path).read()

    async def fails(name, *words):
        code, said = await Up(ax, name, "--token", "--port", "0", "--store", store).refused()
        assert code == 1 and len(said) == 1 and path in said[0], said
        assert not [w for w in words if w not in said[0]] and token.strip() not in said[0], said

    for mode in (0o604, 0o640, 0o602):
        os.chmod(path, mode)
        await fails(f"mode-{mode:o}", "others", "600")
        assert open(path).read() == token
    os.chmod(path, 0o600)
    for number, text in enumerate(("", "short", 'x" } jetstream: { "', "x" * 200)):
        with open(path, "w") as f:
            f.write(text)
        await fails(f"form-{number}", "is no token")
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        await fails("owner", "another user")


async def test(ax):
    await is_open(ax)
    await is_closed(ax)
    await is_refused(ax)


run(test, ingress=0, dispatch=0)
