# The C example (nats.c), producer and worker.
# ctest: timeout=120
import os

from examples import play
from harness import run
from tools import c_build


async def test(ax):
    programs = [c_build(f"examples/c/{name}.c", os.path.join(ax.directory, name)) for name in ("producer", "worker")]
    await play(ax, [programs[0]], [programs[1]])


run(test)
