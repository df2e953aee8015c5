# Clients that send half a request, one header line every few seconds, keep nobody from /healthz: it answers within a
# second beside 80 and 500 of them, and so does a scrape. None of them lasts longer than its deadline, nor does a client
# that reads its answer slowly.
import asyncio
import re
import socket
import time

from harness import SLOW, eventually, run

DEADLINE = 10  # s, of a connection
LINE = b"X-Line: 1\r\n"


def half_open(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=5)
    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
    s.setblocking(False)
    return s


def is_open(s):
    """False: the daemon has let go of it."""
    try:
        return s.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


class Attack:
    """Keeps `count` half-open requests: a header line each every second, a new connection for one that was dropped."""

    def __init__(self, daemon, count):
        self.port, self.count, self.sockets = daemon.port, count, []

    async def __aenter__(self):
        self.task = asyncio.create_task(self.go_on())
        await eventually(lambda: self.task.done() or len(self.sockets) == self.count, 20, "half-open requests")
        return self

    async def go_on(self):
        while True:
            for s in [s for s in self.sockets if not is_open(s)]:
                s.close()
                self.sockets.remove(s)
            for _ in range(self.count - len(self.sockets)):
                self.sockets.append(await asyncio.to_thread(half_open, self.port))
            for s in self.sockets:
                try:
                    s.send(LINE)
                except OSError:
                    pass
            await asyncio.sleep(1)

    async def __aexit__(self, *_):
        failed = self.task.done() and self.task.exception()
        self.task.cancel()
        for s in self.sockets:
            s.close()
        if failed:
            raise failed


async def answers(daemon, path):
    start = time.monotonic()
    status, text = await asyncio.to_thread(daemon.get, path)
    assert status == 200, text
    return time.monotonic() - start


async def stays_healthy(daemon, count, seconds):
    async with Attack(daemon, count):
        end, slowest = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            for path in ("/healthz", "/readyz", "/metrics"):
                slowest = max(slowest, await answers(daemon, path))
            await asyncio.sleep(0.1)
        assert slowest < SLOW, f"{count} half-open requests: an answer took {slowest:.2f} s"


async def has_a_deadline(daemon):
    """Whoever goes on sending, and whoever sends nothing, is let go of when the deadline has passed."""
    start, sockets = time.monotonic(), [half_open(daemon.port) for _ in range(5)]
    silent = socket.create_connection(("127.0.0.1", daemon.port))
    silent.setblocking(False)
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    reader.connect(("127.0.0.1", daemon.port))
    reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    while any(is_open(s) for s in sockets):
        for s in sockets:
            try:
                s.send(LINE)
            except OSError:
                pass
        assert time.monotonic() - start < DEADLINE + 5 * SLOW, "half a request has no deadline"
        await asyncio.sleep(0.2)
    assert time.monotonic() - start > DEADLINE - 1, "dropped before the deadline"
    await eventually(lambda: not is_open(silent), 3, "a silent client is let go of")
    await eventually(lambda: connections(daemon) == 0, 3, "no connection is left, the slow reader's neither")


def connections(daemon):
    """Connections that the daemon's HTTP port holds."""
    with open("/proc/net/tcp") as f:
        rows = [line.split() for line in f][1:]
    return sum(1 for row in rows if row[1] == f"0100007F:{daemon.port:04X}" and row[3] == "01")


async def test(ax):
    for pool in range(20):  # so that /metrics is larger than what the kernel takes for a slow reader
        await ax.put_pool(f"p{pool}", {})
    for daemon in (ax.ingress, ax.dispatch):
        await stays_healthy(daemon, 80, 2)
        await stays_healthy(daemon, 500, 2)
        dropped = daemon.metric("ax_http_dropped_total")
        assert dropped >= 80 + 500 - 2 * 64, dropped
        lines = re.findall(r"HTTP connections dropped", daemon.log())
        assert len(lines) == 1, f"{len(lines)} lines for {dropped:g} connections"
    await has_a_deadline(ax.dispatch)


run(test)
