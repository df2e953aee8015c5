# ax cron ls with very many delayed tasks beside the schedules: they are found without reading all of AX_LATER; without
# ingress they are found as well, later.
# ctest: timeout=300
import json
import os
import time

from cli import good
from harness import SLOW, eventually, run

TASKS = int(os.environ.get("TASKS", "200000"))


async def stored(ax):
    return await ax.messages("AX_LATER") >= TASKS + 3


async def test(ax):
    await ax.pool("email")
    await ax.pool("sms")
    for i, pool in enumerate(("email", "email", "sms")):
        await good(ax, "submit", "--pool", pool, "--key", f"nightly {i}", "--cron", "0 0 3 * * *", "x")
    assert ax.ingress.stop() == 0 and ax.dispatch.stop() == 0
    headers = {"Nats-Schedule": "@at 2040-01-01T00:00:00Z", "Ax-Priority": "low"}
    for i in range(TASKS):
        await ax.nc.publish(f"ax.later.low.email.t{i:031x}", b"x", headers={
            **headers, "Nats-Schedule-Target": f"ax.due.low.email.t{i:031x}"})
        if i % 5000 == 0:
            await ax.nc.flush()
    await eventually(lambda: stored(ax), 120, "all tasks are stored")
    async def took(*args):
        began = time.monotonic()
        listed = json.loads(await good(ax, "cron", "ls", "--json", *args))
        return [o["key"] for o in listed], time.monotonic() - began
    keys = ["nightly 0", "nightly 1", "nightly 2"]
    # Nobody tells: all is read.
    assert (await took())[0] == keys
    ax.ingress.start()
    await ax.ingress.ready()
    for args, wanted in (((), keys), (("--pool", "email"), keys[:2]), (("--pool", "sms"), keys[2:])):
        listed, seconds = await took(*args)
        assert listed == wanted, listed
        assert seconds < 1.5 * SLOW, f"ax cron ls {args}: {seconds:.1f} s beside {TASKS} tasks"
    await good(ax, "cron", "rm", "nightly 1", "--pool", "email")
    assert (await took())[0] == [keys[0], keys[2]]
    await good(ax, "submit", "--pool", "sms", "--key", "nightly 3", "--cron", "0 0 3 * * *", "x")
    assert (await took())[0] == [keys[0], keys[2], "nightly 3"]


run(test, 280)
