"""Proxies in front of a cluster's route ports, so that a test can keep from one node what its replicas should get while
the JetStream API goes on.

nats-server has a route connection of its own for the system account, on which the API's questions and answers travel; the
others carry the accounts, and with `cluster_traffic: owner` the talk of their streams' replicas, too. Which connection is
which, and who is at its ends, the servers say in clear text when they greet each other.
"""
import asyncio
import re

GREETING = 16384


class Line:
    """One direction of one route connection."""

    def __init__(self, links, reader, writer):
        self.links, self.reader, self.writer, self.other = links, reader, writer, None
        self.head, self.source, self.system = b"", None, False

    def learn(self, data):
        if len(self.head) > GREETING:
            return
        self.head += data
        name = re.search(rb'"server_name":"([^"]+)"', self.head)
        self.source = name[1].decode() if name else None
        self.system = self.system or re.search(rb'"route_account":"[^"]*SYS"', self.head) is not None

    def of_system(self):
        return self.system or self.other.system

    async def pump(self):
        try:
            while data := await self.reader.read(1 << 16):
                self.learn(data)
                while self.links.holds(self):
                    await asyncio.sleep(0.01)
                self.writer.write(data)
                await self.writer.drain()
        except OSError:
            pass
        finally:
            self.writer.close()


class Links:
    def __init__(self):
        self.lines, self.servers, self.held = [], [], None

    async def listen(self, port, target):
        """A proxy on port for the route port target."""
        async def accept(reader, writer):
            try:
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target)
            except OSError:
                writer.close()
                return
            there, back = Line(self, reader, far_writer), Line(self, far_reader, writer)
            there.other, back.other = back, there
            self.lines += [there, back]
            try:
                await asyncio.gather(there.pump(), back.pump())
            except asyncio.CancelledError:  # the test is over
                pass

        self.servers.append(await asyncio.start_server(accept, "127.0.0.1", port))

    def cut(self, name):
        """From now on nothing but the system account's messages gets to the node of this name, and it has forgotten what
        the others listen to."""
        self.held = name
        found = [line for line in self.lines if self.holds(line) and not line.writer.is_closing()]
        assert found, f"no routes to {name}"
        for line in found:
            line.writer.close()

    def release(self):
        self.held = None

    def holds(self, line):
        return self.held is not None and line.other.source == self.held and not line.of_system()

    def close(self):
        self.release()
        for server in self.servers:
            server.close()
