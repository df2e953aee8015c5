# ax submit --lines: a line that no server takes is refused at once and by name, with the bound; so is one whose key is
# empty. The others go on.
import asyncio
import time

from harness import SLOW, own, run


async def lines(ax, text, *args):
    process = await asyncio.create_subprocess_exec(
        own("ax"), "submit", "--pool", "email", *args, env=ax.env, cwd=ax.directory, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await asyncio.wait_for(process.communicate(text), 100 * SLOW)
    return process.returncode, out.decode(), err.decode()


async def test(ax):
    await ax.pool("email")
    most = ax.nc.max_payload
    for key in (b"", b"key\t"):
        # The second one fits into max_payload, but not together with its headers.
        for size in (3 << 20, most - len(key) - 1):
            began = time.monotonic()
            code, out, err = await lines(ax, b"one\n" + key + b"x" * size + b"\ntwo\n", "--lines")
            assert code == 1 and "accepted 2 " in out and "refused 1 unanswered 0" in out, (size, out, err)
            assert err.startswith("ax: line 2: ") and str(most) in err and err.count("\n") == 1, err
            assert time.monotonic() - began < 5 * SLOW, time.monotonic() - began
    code, out, err = await lines(ax, b"\tbody\nkey\tbody\n", "--lines")
    assert code == 1 and "accepted 1 " in out and "line 1: the key before the TAB is empty" in err, (out, err)
    began = time.monotonic()
    code, out, err = await lines(ax, b"x" * (3 << 20))
    assert code != 0 and out == "" and "max_payload" in err and str(most) in err, (code, out, err)
    assert time.monotonic() - began < 5 * SLOW


run(test)
