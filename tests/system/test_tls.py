# A server that demands TLS with client certificates, and user and password: every program of AX connects, does its
# work, comes back after a restart of the server, and a wrong certificate or password ends in one line.
# ctest: timeout=120
import asyncio
import ssl

from harness import own
from security import Authority, run

PASSWORD = "correct horse"


def prepare(ax):
    authority = Authority(ax.directory)
    cert, key = authority.files("server")
    ax.client = authority.files("client")
    ax.other = Authority(ax.directory, "other-ca")
    ax.config = (f'tls {{ cert_file: "{cert}", key_file: "{key}", ca_file: "{authority.ca}", verify: true, timeout: 5 }}\n'
                 f'authorization {{ user: ax, password: "{PASSWORD}" }}\n')
    ax.env.update(NATS_CA=authority.ca, NATS_CERT=ax.client[0], NATS_KEY=ax.client[1], NATS_USER="ax",
                  NATS_PASSWORD=PASSWORD)
    context = ssl.create_default_context(cafile=authority.ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 has it
    context.load_cert_chain(*ax.client)
    ax.connect_options = {"tls": context, "user": "ax", "password": PASSWORD}


async def refused(ax, words, *flags):
    text = await ax.command(own("ax"), *flags, "status", check=False, seconds=25)
    lines = [line for line in text.splitlines() if line.startswith("ax: ") and "yet, trying" not in line]
    assert len(lines) == 1 and words in lines[0], text


async def test(ax):
    # A server that hangs up on a stranger's certificate looks like one that only just comes up: this takes a while.
    stranger = asyncio.create_task(refused(ax, "cannot connect", *other_client(ax)))
    assert "11 streams" in await ax.command(own("ax"), "init")
    await ax.command(own("ax"), "pool", "add", "email", "rate=100")
    out = await ax.command(own("ax"), "submit", "--pool", "email", "--key", "k1", "hello")
    assert "queued" in out, out
    work = ax.spawn("work", [own("ax"), "work", "email", "--exec", "cat"])
    await ax.settled(1)
    assert work.stop() == 0
    worker = await ax.worker()
    await ax.push([(f"t{i}", "x") for i in range(50)], producers=2, window=4)
    await ax.settled(51)
    for command in (["status"], ["pool", "ls"], ["dead", "ls"], ["cron", "ls"]):
        await ax.command(own("ax"), *command)

    # The server goes and comes: both daemons are back, over TLS as before.
    ax.server.stop()
    ax.server.start()
    await ax.server_ready()
    await ax.push([(f"u{i}", "x") for i in range(50)], producers=2, window=4)
    await ax.settled(101)
    assert len(worker.starts) == 100
    for daemon in (ax.ingress, ax.dispatch):
        assert "reconnected to NATS" in daemon.log()

    # What is wrong is said.
    await asyncio.gather(refused(ax, "Authentication Violation", "--password", "wrong"),
                         refused(ax, "SSL handshake error", "--tlsca", ax.other.ca), stranger)


def other_client(ax):
    cert, key = ax.other.files("stranger")
    return "--tlscert", cert, "--tlskey", key


run(test, prepare)
