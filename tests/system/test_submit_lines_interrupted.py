# ax submit --lines on a full queue shows on a terminal how far it is and what it waits for; on ^C it prints its sums.
import asyncio
import json
import os
import pty
import re
import signal
import tty

from harness import SLOW, eventually, own, run

ROOM, LINES = 20, 60


async def offer(ax, stderr, *args):
    text = os.path.join(ax.directory, "lines")
    with open(text, "w") as f:
        f.writelines(f"key-{i}\tbody\n" for i in range(LINES))
    with open(text, "rb") as stdin:
        return await asyncio.create_subprocess_exec(
            own("ax"), "submit", "--lines", "--pool", "email", "--priority", "low", *args, env=ax.env,
            cwd=ax.directory, stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=stderr)


async def full(ax):
    return await ax.messages("AX_LOW") == ROOM


async def ended(process):
    out, err = await asyncio.wait_for(process.communicate(), 15 * SLOW)
    return process.returncode, out.decode(), (err or b"").decode()


async def test(ax):
    await ax.pool("email")
    await ax.bound("AX_LOW", ROOM)

    process = await offer(ax, asyncio.subprocess.PIPE, "--json")
    await eventually(lambda: full(ax), 20, "AX_LOW full")
    process.send_signal(signal.SIGINT)
    code, out, err = await ended(process)
    sums = json.loads(out)
    assert code == 130 and sums.pop("busy") > 0, (code, out, err)
    assert sums["accepted"] + sums["left"] + sums["unanswered"] == LINES and sums["accepted"] == ROOM, sums
    assert "interrupted at line 60" in err and "\x1b" not in err and err.count("\n") == 1, err

    master, slave = pty.openpty()
    tty.setraw(slave)
    shown = b""

    def read():
        nonlocal shown
        shown += os.read(master, 65536)
        return re.search(rb"accepted 0 duplicates 20 busy [1-9]\d* refused 0 unanswered 0, 40 under way; "
                         rb"queue low is full \(20 tasks\), retry in ", shown)
    process = await offer(ax, slave)
    os.close(slave)
    await eventually(lambda: asyncio.to_thread(read), 20, "progress")
    process.send_signal(signal.SIGTERM)
    code, out, _ = await ended(process)
    assert code == 143 and out.startswith("accepted 0 duplicates 20 busy "), (code, out)
    os.close(master)


run(test)
