# ax dead ls of 20,000 dead letters takes time for each letter, not for each pair of them, and says what it cuts off.
import json
import time

from cli import cli, good, terminal
from harness import SLOW, eventually, run

LETTERS = 20000
HEADERS = {"Ax-Priority": "low", "Ax-Reason": "no such address"}


async def stored(ax):
    return await ax.messages("AX_DEAD") == LETTERS


async def test(ax):
    for i in range(LETTERS):
        await ax.nc.publish(f"ax.dead.{'email' if i % 4 else 'sms'}.t{i}", b"", headers=HEADERS)
    await eventually(lambda: stored(ax), 60, "all letters are stored")

    for args in (("dead", "ls"), ("dead", "ls", "--json")):
        began = time.monotonic()
        out = await good(ax, *args, "--limit", str(LETTERS))
        took = time.monotonic() - began
        assert took < 12 * SLOW, f"ax {args}: {took:.1f} s for {LETTERS} letters"
        rows = len(json.loads(out)) if "--json" in args else out.count("\n") - 1
        assert rows == LETTERS, rows
    began = time.monotonic()
    code, shown = await terminal(ax, "dead", "ls", "--limit", str(LETTERS))
    assert code == 0 and shown.count(b"no such address") == LETTERS, (code, shown[-200:])
    assert time.monotonic() - began < 20 * SLOW, time.monotonic() - began

    code, out, err = await cli(ax, "dead", "ls")
    assert code == 0 and out.count("\n") == 101 and f"100 of {LETTERS} dead letters" in err, err
    code, out, err = await cli(ax, "dead", "ls", "sms", "--limit", "7", "--json")
    assert len(json.loads(out)) == 7 and f"7 of {LETTERS // 4} dead letters" in err, err
    code, out, err = await cli(ax, "dead", "ls", "sms", "--limit", str(LETTERS // 4))
    assert code == 0 and err == "", err
    code, out, err = await cli(ax, "dead", "ls", "--limit", str(LETTERS))
    assert [line.split()[0] for line in out.splitlines()[1:]] == [f"t{i}" for i in range(LETTERS)], "oldest first"


run(test)
