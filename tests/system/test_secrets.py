# No password and no token is to be read in a log, an error or the list of processes; they come from files, and a token that
# has changed there is used at the next reconnect.
# ctest: timeout=120
import asyncio
import os

from harness import eventually, own
from security import run

SECRET = "s3cret-pass"
TOKENS = "t0ken-of-today", "t0ken-of-tomorrow"


def prepare(ax):
    ax.config = f'authorization {{ users: [ {{ user: "joe", password: "{SECRET}" }} ] }}\n'
    ax.connect_options = {"user": "joe", "password": SECRET}


def write(ax, name, text, mode=0o600):
    path = os.path.join(ax.directory, name)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def start(ax, name, *args):
    return ax.daemon(name, 0, args)


async def restart_server(ax, config):
    ax.server.stop()
    with open(ax.server.argv[-1]) as f:
        text = f.read().split("authorization")[0]
    with open(ax.server.argv[-1], "w") as f:
        f.write(text + config)
    ax.server.start()
    await ax.server_ready()


async def away(ax, daemon, config):
    """The server goes and comes again with this configuration; the daemon connects again."""
    before = daemon.log().count("reconnected to NATS")
    await restart_server(ax, config)
    await eventually(lambda: daemon.log().count("reconnected to NATS") > before, 20)
    await daemon.ready()


def command_line(daemon):
    with open(f"/proc/{daemon.p.pid}/cmdline") as f:
        return f.read()


async def command_lines_and_logs(ax):
    """In a URL for ingress, as flags for dispatch."""
    url = ax.url.replace("://", "://joe:s3cret-pass@")
    ingress = start(ax, "ax-ingress", "--server", url)
    dispatch = start(ax, "ax-dispatch", "--user=joe", "--password", SECRET)
    for daemon in (ingress, dispatch):
        await daemon.ready()
        assert "s3cret" not in command_line(daemon) and "joe" not in command_line(daemon), command_line(daemon)
    assert "nats://" in command_line(ingress) and f"@127.0.0.1:{ax.port}" in command_line(ingress)
    await away(ax, ingress, ax.config)
    assert f"url=nats://***@127.0.0.1:{ax.port}" in ingress.log()
    for daemon in (ingress, dispatch):
        assert daemon.stop() == 0
        assert "s3cret" not in daemon.log(), daemon.log()


async def errors(ax):
    """Whatever is wrong is said without the secret, and at once where it can be."""
    wrong = [
        ({"NATS_URL": f"nats://joe:s3cret@127.0.0.1:{ax.port}"}, ("cannot connect to nats://***@127.0.0.1", "Violation")),
        ({"NATS_URL": f"nats://s3cret@127.0.0.1:{ax.port}"}, ("cannot connect to nats://***@127.0.0.1", "Violation")),
        ({"NATS_URL": "nats://joe:s3cret@127.0.0.1:1,nats://s3cret@[::1]:1"}, ("nats://***@127.0.0.1:1,nats://***@[::1]:1",)),
        ({"NATS_URL": "nats://joe:s3cret@h:port"}, ("nats://***@h:port", "invalid port")),
        ({"NATS_USER": "joe", "NATS_PASSWORD": "s3cret"}, ("Violation",)),
        ({"NATS_PASSWORD_FILE": "/nowhere/secret"}, ("/nowhere/secret: No such file",)),
        ({"NATS_PASSWORD_FILE": write(ax, "open", "s3cret", 0o666)}, ("/open: everybody can write it",)),
        ({"NATS_PASSWORD_FILE": write(ax, "empty", "\n")}, ("/empty: is empty",)),
        ({"NATS_PASSWORD_FILE": write(ax, "long", "s3cret\ns3cret\n")}, ("/long: must hold one line",)),
    ]
    texts = await asyncio.gather(*(ax.command(own("ax"), "status", check=False, env=env) for env, _ in wrong))
    texts.append(await ax.command(own("ax-ingress"), "--pasword=s3cret", check=False))
    for text, words in zip(texts, [words for _, words in wrong] + [("--pasword: no such flag",)]):
        assert all(w in text for w in words), (words, text)
        assert "s3cret" not in text, text


async def files(ax):
    """A password, then a token, which changes."""
    password = write(ax, "password", SECRET + "\n", 0o644)
    dispatch = start(ax, "ax-dispatch", "--user", "joe", "--password-file", password)
    await dispatch.ready()
    assert "everybody can read this secret" in dispatch.log() and dispatch.stop() == 0
    out = await ax.command(own("ax"), "init", "--user", "joe", "--password-file", password)
    assert "11 streams" in out, out

    token = write(ax, "token", TOKENS[0] + "\n")
    ax.env["NATS_PASSWORD_FILE"] = token
    ax.connect_options = {"token": TOKENS[0]}
    await restart_server(ax, f'authorization {{ token: "{TOKENS[0]}" }}\n')
    ingress = start(ax, "ax-ingress")
    await ingress.ready()
    write(ax, "token", TOKENS[1])
    ax.connect_options = {"token": TOKENS[1]}
    await away(ax, ingress, f'authorization {{ token: "{TOKENS[1]}" }}\n')
    assert "queued" in await ax.command(own("ax"), "submit", "--pool", "email", "hello")
    assert ingress.stop() == 0
    assert "t0ken" not in ingress.log() and "readable" not in ingress.log()


async def test(ax):
    await command_lines_and_logs(ax)
    await errors(ax)
    await files(ax)


run(test, prepare, ingress=0, dispatch=0)
