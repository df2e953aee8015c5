# What a command is given to read: what cannot be read is said with its cause and counts as failed; lines that no server
# takes, or whose key is empty, are refused at once; a process started without stdin, stdout or stderr takes no socket
# for them.
# ctest: timeout=60
import asyncio
import os

from harness import eventually, own, run


async def ax_lines(ax, data, *args, stdin=None):
    p = await asyncio.create_subprocess_exec(own("ax"), "submit", "--lines", "--pool", "email", *args, env=ax.env,
                                             stdin=stdin if stdin is not None else asyncio.subprocess.PIPE,
                                             stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await asyncio.wait_for(p.communicate(data), 15)
    return p.returncode, out.decode(), err.decode()


async def test(ax):
    await ax.pool("email")
    directory = os.open("/tmp", os.O_RDONLY)
    code, out, err = await ax_lines(ax, None, stdin=directory)
    assert code == 1 and err == "ax: stdin: Is a directory\n" and "accepted 0" in out, (code, out, err)

    code, out, err = await ax_lines(ax, b"k1\tone\n\tno key\nk2\t" + b"x" * 3000000 + b"\nk3\tthree\n")
    assert code == 1 and "accepted 2 duplicates 0 busy 0 refused 2 unanswered 0" in out, (code, out, err)
    assert "line 2: the key before the TAB is empty" in err, err
    assert "line 3: 3000003 bytes are not allowed; the server takes messages of at most 1048576 " \
        "with their headers (max_payload)" in err, err

    # Without the three: lines of the log, answers and input are nobody's socket.
    p = await asyncio.create_subprocess_shell(f"exec {own('ax')} submit --pool email --lines <&- >&- 2>&-", env=ax.env)
    assert await asyncio.wait_for(p.wait(), 15) == 0
    ax.ingress.stop()
    again = await asyncio.create_subprocess_shell(
        f"exec {own('ax-ingress')} --http {ax.ingress.port} --log-level debug <&- >&- 2>&-", env=ax.env)
    try:
        await eventually(lambda: ax.ingress.get("/readyz")[0] == 200, 20, "ingress is ready")
        for i in range(20):
            await ax.submit("x", f"after-{i}", retry=True)
        streams = [os.readlink(f"/proc/{again.pid}/fd/{i}") for i in range(3)]
        assert streams == ["/dev/null"] * 3, streams
    finally:
        again.terminate()
        await again.wait()
    ax.ingress.start()
    assert await ax.messages("AX_DEAD") == 0, "somebody's socket was taken for a message"
    assert await ax.unfinished() == 22


run(test)
