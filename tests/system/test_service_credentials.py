# What systemd hands over as files ($CREDENTIALS_DIRECTORY) is found by the daemons and `ax` without an option: a
# credentials file, a password, a token. Neither their environment nor their command line has a secret. A command of
# `ax work` gets none of it.
import os
import shutil

from harness import eventually, own
from security import jwt_server, run


def prepare(ax):
    config, creds, ax.connect_options = jwt_server(ax.directory)
    ax.config = config
    ax.credentials = os.path.join(ax.directory, "credentials")
    os.mkdir(ax.credentials, 0o700)
    shutil.copy(creds, os.path.join(ax.credentials, "ax.creds"))
    os.chmod(os.path.join(ax.credentials, "ax.creds"), 0o400)
    ax.env["CREDENTIALS_DIRECTORY"] = ax.credentials


def hand_over(ax, name, text):
    for old in os.listdir(ax.credentials):
        os.unlink(os.path.join(ax.credentials, old))
    with open(os.path.join(ax.credentials, name), "w") as f:
        f.write(text + "\n")
    os.chmod(os.path.join(ax.credentials, name), 0o400)


async def server_with(ax, authorization):
    """The same server again, with another way to say who comes."""
    for daemon in (ax.ingress, ax.dispatch):
        daemon.kill()
    ax.server.stop()
    with open(ax.server.argv[-1]) as f:
        lines = f.read().split("operator:")[0].split("authorization")[0]
    with open(ax.server.argv[-1], "w") as f:
        f.write(f"{lines}authorization {{ {authorization} }}\n")
    ax.server.start()
    await ax.server_ready()


async def works(ax, key, secret):
    for daemon in (ax.ingress, ax.dispatch):
        daemon.env = ax.env
        if not daemon.running():
            daemon.start()
    for daemon in (ax.ingress, ax.dispatch):
        await daemon.ready()
        for name in ("environ", "cmdline"):
            with open(f"/proc/{daemon.p.pid}/{name}", "rb") as f:
                assert secret.encode() not in f.read(), f"{daemon.name}: the secret is in {name}"
        assert secret not in daemon.log()
    out = await ax.command(own("ax"), "submit", "--pool", "email", "--key", key, "x")
    assert "queued" in out, out
    work = ax.spawn(f"work-{key}", [own("ax"), "work", "email", "--exec", f"env > {ax.directory}/{key}.env"])

    async def done():
        return "done" in await ax.command(own("ax"), "status", "--pool", "email", key, check=False)
    await eventually(done, 20, f"{key} is worked")
    assert work.stop() == 0
    with open(os.path.join(ax.directory, f"{key}.env")) as f:
        assert "CREDENTIALS_DIRECTORY" not in f.read()


async def test(ax):
    await works(ax, "creds", "SUA")  # how the seed of a user begins
    ax.connect_options = {"user": "ax", "password": "pass-word"}
    await server_with(ax, 'user: ax, password: "pass-word"')
    hand_over(ax, "ax.password", "pass-word")
    ax.env["NATS_USER"] = "ax"
    await works(ax, "password", "pass-word")
    ax.connect_options = {"token": "let-me-in-please"}
    await server_with(ax, 'token: "let-me-in-please"')
    hand_over(ax, "ax.password", "let-me-in-please")
    del ax.env["NATS_USER"]
    await works(ax, "token", "let-me-in-please")


run(test, prepare)
