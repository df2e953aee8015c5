# ax up listens beyond the loopback only with --token, however the address is written. Addresses of the loopback work
# without, IPv6 in brackets or not, and the URL has the brackets.
import re
import socket

import nats

from harness import run, skip
from up import Up, listening


async def works(ax, host, url, *args):
    up = await Up(ax, f"works-{host}".replace(":", "_"), "--port", "0", "--store", "store", "--host", host, *args).ready(url)
    nc = await nats.connect(up.url, allow_reconnect=False, connect_timeout=5)
    await nc.close()
    addresses = listening([up.pids()["nats-server"]])
    await up.stop()
    return addresses


def outward():
    """An address of this machine that others may reach; None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # sends nothing
            return s.getsockname()[0]
        except OSError:
            return None


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
            return True
    except OSError:
        return False


async def test(ax):
    refused = ["0.0.0.0", "::", "[::]", "192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "0", outward() or "192.0.2.2"]
    for number, host in enumerate(refused):
        code, said = await Up(ax, f"refused-{number}", "--port", "0", "--store", "store", "--host", host).refused()
        assert code == 2 and len(said) == 1 and host in said[0] and "--token" in said[0], (host, said)
    for number, host in enumerate(("", "no.such.name.invalid", "127.0.0.1:4222", "[]")):
        code, said = await Up(ax, f"none-{number}", "--port", "0", "--store", "store", "--host", host).refused()
        assert code == 2 and len(said) == 1 and "--host" in said[0] and "no address" in said[0], (host, said)

    name = socket.gethostname()
    try:
        beyond = [a[4][0] for a in socket.getaddrinfo(name, None) if not re.match(r"127\.|::1$", a[4][0])]
    except OSError:
        beyond = []
    if beyond:
        code, said = await Up(ax, "name", "--port", "0", "--store", "store", "--host", name).refused()
        assert code == 2 and name in said[0] and "--token" in said[0], said

    assert await works(ax, "127.0.0.2", r"nats://127\.0\.0\.2:\d+") == {"0200007F"}
    assert await works(ax, "localhost", r"nats://localhost:\d+") <= {"0100007F", "00000000000000000000000001000000"}
    token = "[0-9A-Za-z_-]{32}"
    assert await works(ax, "0.0.0.0", rf"nats://{token}@127\.0\.0\.1:\d+", "--token") & {"00000000", "0" * 32}
    if not has_ipv6():
        skip("no IPv6 here; the rest passed")
    for host in ("::1", "[::1]"):
        assert await works(ax, host, r"nats://\[::1\]:\d+") == {"00000000000000000000000001000000"}
    await works(ax, "[::1]", rf"nats://{token}@\[::1\]:\d+", "--token")


run(test, ingress=0, dispatch=0)
