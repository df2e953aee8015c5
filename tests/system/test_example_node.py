# The Node example (@nats-io), producer and worker.
# ctest: timeout=120
import os

from examples import play
from harness import run
from tools import node_directory


async def test(ax):
    directory = os.path.join(ax.directory, "node")
    node = node_directory("examples/node", directory)
    await play(ax, [node, os.path.join(directory, "producer.mjs")], [node, os.path.join(directory, "worker.mjs")])


run(test)
