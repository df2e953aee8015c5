# ax work's commands: no password, URL or file of the connection, whatever else the environment holds; odd keys.
# ctest: sanitize=address
import json
import os
import subprocess

from cli import piped
from harness import eventually, own, run

SECRETS = {"NATS_USER": "svc", "NATS_PASSWORD": "s3cret-1", "NATS_TOKEN": "s3cret-2", "NATS_NKEY": "s3cret-3",
           "CREDENTIALS_DIRECTORY": "/run/s3cret-5", "AX_HTTP": "0",
           "AX_LOG_LEVEL": "info"}
KEPT = {"HOME_OF": "mail", "NATSY": "kept", "AX": "kept", "MY_NATS_URL": "kept"}
ODD = [b"-rf", b"--help", b"$(touch owned)", b"`touch owned`", b"a b  c", b"k='\"\\;x", b"\x01\x1b\xff\xfe=", b"AX_FENCE=1"]
# What a command can see: its environment and its files.
LOOK = ('env -0 >env.$AX_TASK; ls -l /proc/self/fd >fds.$AX_TASK; '
        ': >seen.$AX_TASK')


def variables(ax, task):
    with open(os.path.join(ax.directory, f"env.{task}"), "rb") as f:
        return dict(entry.split(b"=", 1) for entry in f.read().split(b"\0") if entry)


def files(ax, task):
    """{number: what it is} of the files that `ls` had; its own directory is one of them."""
    with open(os.path.join(ax.directory, f"fds.{task}")) as f:
        links = [line.split(" -> ") for line in f if " -> " in line]
    return {int(left.split()[-1]): right.strip() for left, right in links if "/proc/" not in right}


async def ran(ax, task):
    await eventually(lambda: os.path.exists(os.path.join(ax.directory, f"seen.{task}")), 20, f"{task} ran")


async def start(ax, name, pool, *args, env=None):
    worker = ax.spawn(name, [own("ax"), "work", pool, "--exec", LOOK, *args], env=env)
    await eventually(lambda: "msg=working" in worker.log(), 20, "ax work started")
    return worker


async def nothing_of_the_connection(ax):
    password = os.path.join(ax.directory, "s3cret-4")
    with open(os.open(password, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write("s3cret-1\n")
    worker = await start(ax, "work", "mail", env={**SECRETS, **KEPT, "NATS_PASSWORD_FILE": password})
    task = (await ax.submit("body", "key-1", pool="mail"))["task"]
    await ran(ax, task)
    seen = variables(ax, task)
    private = [name for name in seen if name.startswith((b"NATS_", b"CREDENTIALS"))]
    assert not private, private
    assert not any(b"s3cret" in value or b"nats://" in value for value in seen.values()), seen
    assert {k.encode(): v.encode() for k, v in KEPT.items()}.items() <= seen.items(), seen
    of_ax = {name for name in seen if name.startswith(b"AX_")}
    assert of_ax == {b"AX_TASK", b"AX_KEY", b"AX_ATTEMPT", b"AX_FENCE", b"AX_PRIORITY", b"AX_POOL"}, of_ax
    assert (seen[b"AX_KEY"], seen[b"AX_TASK"], seen[b"AX_POOL"]) == (b"key-1", task.encode(), b"mail"), seen
    assert seen[b"HOME"] == ax.directory.encode() and b"PATH" in seen, seen
    had = files(ax, task)
    assert set(had) == {0, 1, 2} and not any("socket" in what or "anon_inode" in what for what in had.values()), had
    assert worker.stop() == 0


def unprivileged():
    """What runs a program as somebody who may read only his own processes; None: it cannot be done here."""
    if os.geteuid() != 0:
        return []
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    try:
        tried = subprocess.run([*prefix, own("ax"), "--version"], capture_output=True, timeout=20)
    except FileNotFoundError:
        return None
    return prefix if tried.returncode == 0 else None


async def nothing_of_the_parent(ax):
    """The command runs as the user of ax work, and still cannot read its environment."""
    prefix = unprivileged()
    if prefix is None:
        print("not tried: no other user here may run ax")
        return
    command = 'cat /proc/$PPID/environ || echo cannot; echo looked'
    worker = ax.spawn("work-other", [*prefix, own("ax"), "work", "mail", "--exec", command], env=SECRETS)
    await ax.submit("x", "key-2", pool="mail")
    await eventually(lambda: "looked" in worker.log(), 20, "the command ran")
    assert "cannot" in worker.log() and "s3cret" not in worker.log(), worker.log()
    assert worker.stop() == 0


async def odd_keys(ax):
    worker = await start(ax, "work-odd", "mail")
    for key in ODD:
        code, out, err = await piped(ax, "submit", "--json", "--pool", "mail", "--key=" + os.fsdecode(key), "x")
        assert code == 0, err
        task = json.loads(out)["task"]
        await ran(ax, task)
        assert variables(ax, task)[b"AX_KEY"] == key, key
    assert not os.path.exists(os.path.join(ax.directory, "owned"))
    code, out, err = await piped(ax, "status", "--pool", "mail", "--", "-rf")
    assert code == 0 and (b"pool       mail\n" in out), (out, err)
    assert worker.stop() == 0


async def handed_on_when_asked(ax):
    """A command that submits a task that follows."""
    await ax.pool("next")
    command = 'test "$AX_KEY" = first && ' + own("ax") + ' submit --pool next --key second -- "-$AX_KEY"; : >"seen.$AX_TASK"'
    worker = ax.spawn("work-pass", [own("ax"), "work", "chain", "--pass-connection", "--exec", command],
                      env={"NATS_URL": ax.url})
    task = (await ax.submit("x", "first", pool="chain"))["task"]
    await ran(ax, task)
    code, out, err = await piped(ax, "status", "--json", "--pool", "next", "second")
    assert code == 0 and json.loads(out)["state"] == "queued", (out, err)
    assert worker.stop() == 0


async def test(ax):
    ax.env.pop("AX_LEASE_TTL", None)
    await nothing_of_the_connection(ax)
    await nothing_of_the_parent(ax)
    await odd_keys(ax)
    await handed_on_when_asked(ax)


run(test)
