# Where the server has less room than AX_SPILL asks for, ax init makes it smaller rather than giving up.
import json

from harness import own, run

SMALL = 'jetstream { store_dir: "store", max_file: 300MB }'


async def test(ax):
    info = await ax.api("INFO")
    created = json.loads((await ax.command(own("ax"), "init", "--json")).splitlines()[-1])["created"]
    assert len(created) == 11, created
    max_bytes = (await ax.stream("AX_SPILL"))["config"]["max_bytes"]
    assert max_bytes == 256 << 20, (max_bytes, info)
    assert json.loads((await ax.command(own("ax"), "init", "--json")).splitlines()[-1])["created"] == []


run(test, ingress=0, dispatch=0, config=SMALL)
