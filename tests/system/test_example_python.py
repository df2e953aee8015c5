# The Python example (nats-py), producer and worker.
# ctest: timeout=120
import os
import sys

from examples import play
from harness import ROOT, run


async def test(ax):
    directory = os.path.join(ROOT, "examples/python")
    await play(ax, [sys.executable, os.path.join(directory, "producer.py")],
               [sys.executable, os.path.join(directory, "worker.py")])


run(test)
