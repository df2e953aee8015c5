# ax status, cancel, dead and cron find a key in whichever pool has it when no pool is named: the default pool first, and
# where several others have it they are named. A pool that is not there is said.
import asyncio
import json

from cli import cli, good
from harness import eventually, run


async def state(ax, key, *args):
    found = json.loads(await good(ax, "status", "--json", key, *args))
    return found["pool"], found["state"]


async def refused(ax, code, words, *args):
    ended, out, err = await cli(ax, *args)
    assert ended == code and not out and err.count("\n") == 1, (args, ended, out, err)
    for word in words:
        assert word in err, (args, word, err)


async def test(ax):
    for pool in ("default", "email", "sms"):
        await ax.pool(pool)
    for pool, key in (("sms", "one"), ("sms", "two"), ("email", "two"), ("default", "three"), ("sms", "three")):
        await good(ax, "submit", "--pool", pool, "--key", key, "body")
    await good(ax, "submit", "--pool", "sms", "--key", "later", "--delay", "1h", "body")
    await good(ax, "submit", "--pool", "sms", "--key", "nightly", "--cron", "0 0 3 * * *", "body")

    assert await state(ax, "one") == ("sms", "queued")
    assert await state(ax, "later") == ("sms", "later")
    assert await state(ax, "three") == ("default", "queued")
    assert await state(ax, "two", "--pool", "email") == ("email", "queued")
    await refused(ax, 2, ("email", "sms", "--pool"), "status", "two")
    await refused(ax, 2, ("email", "sms", "--pool"), "cancel", "two")
    await refused(ax, 1, ("unknown", "any pool"), "status", "none")
    await refused(ax, 1, ("unknown", "no pool smz", "did you mean sms?"), "status", "one", "--pool", "smz")

    assert "sms" in await good(ax, "cron", "show", "nightly")
    await good(ax, "cron", "pause", "nightly")
    await good(ax, "cron", "rm", "nightly")
    await refused(ax, 1, ("any pool",), "cron", "show", "nightly")

    async def fail(task):
        return ("term", "no") if task.key == "one" else "ack"
    await ax.worker("sms", fail)
    await eventually(lambda: is_state(ax, "one", "dead"), 20, "one is dead")
    assert "one" in await good(ax, "dead", "show", "one")
    await good(ax, "dead", "drop", "one")
    await refused(ax, 1, ("any pool",), "dead", "retry", "one")
    # Done: only records tell.
    await good(ax, "submit", "--pool", "sms", "--key", "last", "--wait", "body")
    assert await state(ax, "last") == ("sms", "done")
    await good(ax, "cancel", "later")
    await asyncio.gather(*(good(ax, "submit", "--pool", p, "--key", "last", "body") for p in ("email", "default")))
    assert await state(ax, "last") == ("default", "queued")


async def is_state(ax, key, wanted):
    return (await state(ax, key))[1] == wanted


run(test)
