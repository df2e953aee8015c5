# ax dead retry --all into a full queue: that queue is asked once and no more, the others go on, and one line says what
# went and what stays. A pool that is not there is an error.
import json

from cli import cli, good
from harness import eventually, run

LETTERS, ROOM = 500, 10


async def letters(ax, count, priority, pool):
    for i in range(count):
        await ax.nc.publish(f"ax.dead.{pool}.{priority}{i}", b"", headers={"Ax-Priority": priority})


async def stored(ax, count):
    return await ax.messages("AX_DEAD") == count


async def test(ax):
    for pool in ("email", "sms", "unused"):
        await ax.pool(pool)
    await ax.edit_stream("AX_LOW", max_msgs=ROOM)
    await letters(ax, LETTERS, "low", "email")
    await letters(ax, 3, "high", "email")
    await letters(ax, 1, "high", "sms")
    await eventually(lambda: stored(ax, LETTERS + 4), 30, "all letters are stored")

    offered = []

    async def heard(msg):
        offered.append(msg.subject)
    await ax.nc.subscribe("ax.queue.low.>", cb=heard)
    await ax.nc.flush()

    code, out, err = await cli(ax, "dead", "retry", "--all", "--pool", "email")
    assert code == 75 and err == "", (code, err)
    assert out == f"{ROOM + 3} dead letters queued again, {LETTERS - ROOM} stay: queue low is full\n", out
    await ax.nc.flush()
    assert len(offered) == ROOM + 1, len(offered)
    assert await stored(ax, LETTERS - ROOM + 1)

    code, out, err = await cli(ax, "dead", "retry", "--all", "--priority", "low", "--json")
    assert code == 75 and json.loads(out) == {"queued": 0, "left": LETTERS - ROOM + 1, "held": 0, "failed": 0,
                                              "full": ["low"]}, (code, out, err)
    await ax.nc.flush()
    assert len(offered) == ROOM + 2, len(offered)

    for verb in (["retry", "--all"], ["drop", "--all"], ["ls"]):
        code, out, err = await cli(ax, "dead", *verb, "--pool", "emial")
        assert code == 1 and out == "" and "no pool emial" in err and "did you mean email?" in err, (verb, out, err)
    assert await good(ax, "dead", "ls", "--pool", "unused", "--json") == "[]\n"
    assert await good(ax, "dead", "retry", "--all", "--pool", "sms") == "1 dead letter queued again\n"
    assert await good(ax, "dead", "drop", "--all") == f"{LETTERS - ROOM} dead letters dropped\n"

    # Many that fail for one reason are said a few times, and counted.
    await letters(ax, 20, "urgent", "email")
    await eventually(lambda: stored(ax, 20), 10, "stored")
    code, out, err = await cli(ax, "dead", "retry", "--all")
    assert code == 1 and out == "0 dead letters queued again, 20 stay: 20 failed\n", out
    assert err.count("\n") == 3 and "urgent" in err, err


run(test)
