# The Go example (nats.go), producer and worker.
# ctest: timeout=200
import asyncio
import os

from examples import play
from harness import run
from tools import go_build


async def test(ax):
    programs = [await asyncio.to_thread(go_build, "examples/go", f"./{name}", os.path.join(ax.directory, name))
                for name in ("producer", "worker")]
    await play(ax, [programs[0]], [programs[1]])


run(test, 190)
