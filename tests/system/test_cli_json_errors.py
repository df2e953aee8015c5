# With --json a command that fails prints one object on stdout that says why, with codes and the time after which to try
# again; and people read round numbers.
import json

from cli import cli
from harness import eventually, run


async def error(ax, *args):
    code, out, err = await cli(ax, *args, "--json")
    assert out.count("\n") == 1, (args, code, out, err)
    found = json.loads(out)["error"]
    assert set(found) == {"exit", "code", "err_code", "description", "retry_after_ms"}, found
    assert found["exit"] == code and err == f"ax: {found['description']}\n", (found, err)
    return found


async def full(ax):
    return await ax.messages("AX_LOW") == 3


async def test(ax):
    await ax.pool("email")
    await ax.bound("AX_LOW", 3)
    for i in range(3):
        await ax.submit("x", f"k{i}", "low", "email")
    await eventually(lambda: full(ax), 10, "full")

    busy = await error(ax, "submit", "--pool", "email", "--priority", "low", "b")
    assert (busy["exit"], busy["code"], busy["err_code"]) == (75, 503, 10077), busy
    assert busy["retry_after_ms"] >= 1 and "queue low is full (3 tasks), retry in " in busy["description"], busy
    if busy["retry_after_ms"] == 60000:
        assert busy["description"].endswith("retry in 60s"), busy

    refused = await error(ax, "submit", "--pool", "email", "--max-retry", "-1", "b")
    assert (refused["exit"], refused["code"], refused["retry_after_ms"]) == (2, 400, None), refused
    assert "--max-retry" in refused["description"], refused
    for args, wanted in ((("cron", "show", "none"), 1), (("dead", "show", "none"), 1), (("dead", "ls", "none"), 1),
                         (("pool", "ls", "--nope"), 2), (("dead", "retry"), 2), (("cancel", "none"), 1),
                         (("submit", "--lines", "--key", "k"), 2)):
        got = await error(ax, *args)
        assert got["exit"] == wanted and got["code"] is None and got["description"], (args, got)
    # What has an answer of its own keeps it.
    code, out, _ = await cli(ax, "status", "none", "--json")
    assert code == 1 and json.loads(out)["state"] == "unknown", out


run(test)
