# A server with an operator and JWT credentials: every program of AX works with NATS_CREDS, and does not without. A
# token is given as a user name without password. `ax up` has a server of its own and minds none of them.
# ctest: timeout=120
from harness import eventually, need, own
from security import jwt_server, run


def prepare(ax):
    ax.config, ax.env["NATS_CREDS"], ax.connect_options = jwt_server(ax.directory)


async def test(ax):
    out = await ax.command(own("ax"), "submit", "--pool", "email", "--key", "k1", "hello")
    assert "queued" in out, out
    work = ax.spawn("work", [own("ax"), "work", "email", "--exec", "cat"])
    await ax.push([(f"t{i}", "x") for i in range(20)], producers=2, window=4)
    await ax.settled(21)
    assert work.stop() == 0
    text = await ax.command(own("ax"), "status", check=False, env={"NATS_CREDS": ""})
    assert "ax: cannot connect" in text and "Authentication Violation" in text, text
    await token(ax)
    await up(ax)


async def token(ax):
    """The same server again, with a token this time."""
    ax.ingress.kill()
    ax.dispatch.kill()
    ax.server.stop()
    with open(ax.server.argv[-1]) as f:
        lines = f.read().split("operator:")[0]
    with open(ax.server.argv[-1], "w") as f:
        f.write(lines + 'authorization { token: "let me in" }\n')
    ax.server.start()
    ax.env["NATS_CREDS"] = ""
    ax.connect_options = {"token": "let me in"}
    await ax.server_ready()
    assert "11 streams" in await ax.command(own("ax"), "init", env={"NATS_USER": "let me in"})
    text = await ax.command(own("ax"), "status", check=False, env={"NATS_USER": "let me out"})
    assert "Authentication Violation" in text, text


async def up(ax):
    foreign = {"NATS_USER": "somebody", "NATS_PASSWORD": "x", "NATS_CREDS": "/none", "NATS_CA": "/none",
               "NATS_URL": "nats://127.0.0.1:1", "AX_REPLICAS": "3",
               "AX_NATS_SERVER": need("nats-server", "AX_NATS_SERVER")}
    process = ax.spawn("up", [own("ax"), "up", "--port", "0", "--store", f"{ax.directory}/up"], env=foreign)
    await eventually(lambda: "ax ready nats://" in process.log(), 20)
    assert process.stop(20) == 0


run(test, prepare)
