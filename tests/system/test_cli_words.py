# Texts for people: one of a thing is singular, times have milliseconds, waits are round, ax pool ls fits 80 columns.
import json
import re

from cli import cli, good
from harness import eventually, run


async def dead(ax):
    return await ax.messages("AX_DEAD") == 1


async def test(ax):
    for pool in ("email", "a-longer-name16", "default"):
        await ax.pool(pool)

    async def fail(task):
        return "nak"
    worker = await ax.worker("email", fail)
    await good(ax, "submit", "--pool", "email", "--max-retry", "0", "--key", "one", "b")
    await eventually(lambda: dead(ax), 20, "dead")
    await worker.stop()
    ax.workers.clear()
    assert "failed 1 time, last: nak" in await good(ax, "dead", "ls")
    for args in (("dead", "ls"), ("dead", "show", "one"), ("status", "one")):
        times = re.findall(r"20\d\d-\d\d-\d\dT[0-9:]+(\S*?)Z", await good(ax, *args))
        assert times and all(re.fullmatch(r"(\.\d{1,3})?", fraction) for fraction in times), (args, times)
    # Programs read what is stored.
    letter = json.loads(await good(ax, "dead", "show", "one", "--json"))
    assert len(letter["submitted"]) > len("2030-01-31T09:00:00.123Z"), letter

    for line in (await good(ax, "pool", "ls")).splitlines():
        assert len(line) <= 80, (len(line), line)
    assert await good(ax, "dead", "drop", "--all") == "1 dead letter dropped\n"

    await ax.bound("AX_LOW", 1)
    await ax.submit("x", "k", "low", "email")
    code, _, err = await cli(ax, "submit", "--pool", "email", "--priority", "low", "b")
    assert code == 75 and re.search(r"retry in (\d+ms|\d+s)$", err.strip()) and "000ms" not in err, err


run(test)
