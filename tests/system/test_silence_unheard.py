# A dispatcher is cut off for longer than the ack wait, but not for so long that it loses its lease. Meanwhile a worker
# says in-progress to the server, and the dispatcher does not hear it: that is no silence of the worker's. Its attempt
# goes on, and is neither timed out nor run again.
# ctest: sanitize=address
import asyncio

from harness import SLOW, eventually, free_port, run

WAIT_S = SLOW
CUT_S = 2.5 * WAIT_S
LEASE_S = 4 * CUT_S


class Cut:
    """A TCP proxy to the server that can be cut."""

    def __init__(self, port):
        self.port, self.listen, self.writers, self.cut = port, free_port(), set(), False

    async def start(self):
        self.server = await asyncio.start_server(self._accept, "127.0.0.1", self.listen)
        return f"nats://127.0.0.1:{self.listen}"

    async def _accept(self, reader, writer):
        if self.cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers |= {writer, far_writer}
        for ends in ((reader, far_writer), (far_reader, writer)):
            asyncio.create_task(self._pump(*ends))

    async def _pump(self, reader, writer):
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def close(self):
        self.cut = True
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


async def test(ax):
    await ax.pool("email", ack_wait=WAIT_S)
    link = Cut(ax.port)
    assert ax.dispatch.stop() == 0
    ax.dispatch.env = {**ax.dispatch.env, "NATS_URL": await link.start(), "AX_LEASE_TTL": f"{LEASE_S:g}s"}
    ax.dispatch.start()
    await ax.dispatch.ready()
    ends = asyncio.Event()

    async def handler(task):
        while not ends.is_set():
            await task.progress()
            await asyncio.sleep(WAIT_S / 6)

    worker = await ax.worker(handler=handler, pulls=2)
    await ax.submit("x", "order")
    await eventually(lambda: worker.starts, 10, "it runs")
    link.close()
    await asyncio.sleep(CUT_S)
    link.cut = False
    await eventually(lambda: "reconnected" in ax.dispatch.log(), 20, "connected again")
    await asyncio.sleep(WAIT_S)  # it has looked by then
    ends.set()
    await ax.settled(1, 20)
    assert len(worker.starts) == 1, [(t.key, t.attempt) for t in worker.starts]
    assert ax.dispatch.metric("ax_timeouts_total") == 0
    assert "lease lost" not in ax.dispatch.log()


run(test)
