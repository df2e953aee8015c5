"""A TCP proxy whose links can be cut, stalled and slowed down: for machines where tc and namespaces are not allowed.

A process of its own that takes commands on stdin, one a line, and answers each with a line:

    link NAME LISTEN TARGET    connections to port LISTEN go to port TARGET
    cut NAME                   resets all connections of the link, and every new one at once
    stall NAME                 nothing passes, nothing is closed
    slow NAME MS KBPS          everything is MS late, at most KBPS kilobytes a second each way
    heal NAME
"""
import asyncio
import collections
import subprocess
import sys


class Link:
    def __init__(self, name, target):
        self.name, self.target = name, target
        self.cut, self.stalled, self.late, self.rate = False, False, 0.0, 0.0
        self.ends = set()

    def change(self, cut=False, stalled=False, late=0.0, rate=0.0):
        self.cut, self.stalled, self.late, self.rate = cut, stalled, late, rate
        for end in list(self.ends):
            if cut:
                end.transport.abort()
            else:
                end.flow()


class End(asyncio.Protocol):
    """One side of a connection: what it receives goes to its peer, in order, when it is due."""

    def __init__(self, link, peer=None):
        self.link, self.peer, self.transport = link, peer, None
        self.held, self.due, self.timer = collections.deque(), 0.0, None
        self.full = False

    def connection_made(self, transport):
        self.transport, self.loop = transport, asyncio.get_running_loop()
        self.link.ends.add(self)
        if self.link.cut:
            transport.abort()
        elif self.peer is None:
            transport.pause_reading()
            self.loop.create_task(self.dial())
        else:
            self.peer.peer = self
            self.peer.transport.resume_reading()
            self.flow()
            self.peer.flow()

    async def dial(self):
        try:
            await self.loop.create_connection(lambda: End(self.link, self), "127.0.0.1", self.link.target)
        except OSError:
            self.transport.abort()

    def data_received(self, data):
        link = self.link
        if not self.held and not link.stalled and link.late == 0 and self.peer is not None:
            self.peer.transport.write(data)
            return
        now = self.loop.time()
        self.due = max(self.due, now + link.late) + (len(data) / link.rate if link.rate else 0)
        self.held.append((self.due, data))
        self.flow()

    def flow(self):
        """Passes on what is due, and sees to it that somebody comes back for the rest."""
        if self.timer:
            self.timer.cancel()
            self.timer = None
        if self.transport is None or self.peer is None or self.peer.transport is None:
            return
        now = self.loop.time()
        while self.held and not self.link.stalled and (self.held[0][0] <= now or self.link.late == 0):
            self.peer.transport.write(self.held.popleft()[1])
        if self.held and not self.link.stalled:
            self.timer = self.loop.call_at(self.held[0][0], self.flow)
        if not self.transport.is_closing():
            if self.link.stalled or self.peer.full or len(self.held) > 1000:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def pause_writing(self):
        self.full = True
        if self.peer and self.peer.transport and not self.peer.transport.is_closing():
            self.peer.transport.pause_reading()

    def resume_writing(self):
        self.full = False
        if self.peer:
            self.peer.flow()

    def eof_received(self):
        return False

    def connection_lost(self, _):
        self.link.ends.discard(self)
        if self.peer and self.peer.transport:
            self.peer.transport.close()


async def main():
    loop, links = asyncio.get_running_loop(), {}
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        what, name, *rest = line.decode().split()
        if what == "link":
            link = links[name] = Link(name, int(rest[1]))
            await loop.create_server(lambda l=link: End(l), "127.0.0.1", int(rest[0]))
        else:
            links[name].change(**{"cut": {"cut": True}, "stall": {"stalled": True}, "heal": {}, "slow": {
                "late": int(rest[0]) / 1000, "rate": int(rest[1]) * 1000.0} if rest else {}}[what])
        print("ok", flush=True)


class Proxy:
    """Starts the process and speaks to it."""

    def __init__(self, log, child):
        self.p = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                  text=True, bufsize=1, preexec_fn=child)

    def say(self, *words):
        print(*words, file=self.p.stdin, flush=True)
        answer = self.p.stdout.readline().strip()
        assert answer == "ok", f"proxy: {words}: {answer!r}"

    def close(self):
        self.p.stdin.close()
        self.p.wait()


if __name__ == "__main__":
    asyncio.run(main())
