# Where the server has less room than AX_SPILL asks for, ax init makes it smaller rather than giving up.
import json

from harness import own, run

SMALL = 'jetstream { store_dir: "store", max_file: 300MB }'


async def init(ax):
    output = await ax.command(own("ax"), "init", "--json")
    return json.loads(next(line for line in output.splitlines() if line.startswith("{")))["created"]  # among log lines


async def test(ax):
    created = await init(ax)
    assert len(created) == 11, created
    max_bytes = (await ax.stream("AX_SPILL"))["config"]["max_bytes"]
    assert max_bytes == 256 << 20, max_bytes
    assert await init(ax) == []


run(test, ingress=0, dispatch=0, config=SMALL)
