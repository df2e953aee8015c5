# The clock of the host that ax runs on is an hour off, either way: expiries of dead letters, ages, the time of a death and
# --wait go by the server's clock.
# ctest: timed
import base64
import json
import re
import time

from cli import cli, good
from faketime import HostClock
from harness import run


def stamp(offset):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + offset))


async def queued(ax, task):
    reply = await ax.nc.request("$JS.API.STREAM.MSG.GET.AX_LOW",
                                json.dumps({"last_by_subj": f"ax.queue.low.email.{task}"}).encode())
    return base64.b64decode(json.loads(reply.data)["message"]["hdrs"]).decode()


async def test(ax):
    clock = HostClock(ax)
    await ax.pool("email")
    await ax.submit("x", "waits", "low", "email")
    env = dict(ax.env)
    for name, offset in (("behind", -3600), ("ahead", 3600)):
        clock.set(offset)
        ax.env.update(clock.env)
        text = await good(ax, "status", "waits", "--pool", "email")
        ages = re.findall(r"\((\d+)(ms|s) ago\)", text)
        assert len(ages) == 2 and " (in " not in text, text

        for task, expires in ((f"{name}live", 1800), (f"{name}past", -1800)):
            await ax.js.publish(f"ax.dead.email.{task}", b"", headers={"Ax-Priority": "low",
                                                                     "Ax-Expires": stamp(expires)})
            await good(ax, "dead", "retry", task)
            assert ("Ax-Expires" in await queued(ax, task)) == (expires > 0), (task, await queued(ax, task))

        began = time.monotonic()
        code, _, err = await cli(ax, "submit", "--pool", "email", "--key", f"{name} w", "--wait=1s", "x")
        assert code == 1 and "after 1000 ms" in err and 0.9 < time.monotonic() - began < 10, (code, err)

        await good(ax, "pool", "add", f"gone-{name}")
        await good(ax, "submit", "--pool", f"gone-{name}", "--key", "buried", "--delay", "1h", "x")
        await good(ax, "pool", "rm", f"gone-{name}", "--force")
        letter = json.loads(await good(ax, "dead", "ls", f"gone-{name}", "--json"))[0]
        assert letter["died"][:16] in (stamp(0)[:16], stamp(-60)[:16]), (letter["died"], stamp(0))
        ax.env.clear()
        ax.env.update(env)


run(test)
