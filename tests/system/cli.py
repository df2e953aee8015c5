"""Runs `ax` for tests of what it prints."""
import asyncio
import os
import pty
import tty

from harness import SLOW, own


async def cli(ax, *args):
    """(exit code, standard output, standard error)"""
    code, out, err = await piped(ax, *args)
    return code, out.decode(), err.decode()


async def good(ax, *args):
    """Standard output of a command that succeeds."""
    code, out, err = await cli(ax, *args)
    assert code == 0, f"ax {args} ended with {code}: {err}"
    return out


async def terminal(ax, *args):
    """(exit code, bytes) of a command whose standard output and standard error are a terminal."""
    master, slave = pty.openpty()
    tty.setraw(slave)  # the terminal itself changes nothing
    process = await asyncio.create_subprocess_exec(own("ax"), *args, env=ax.env, cwd=ax.directory, stdout=slave,
                                                   stderr=slave, stdin=asyncio.subprocess.DEVNULL)
    os.close(slave)
    shown = asyncio.create_task(asyncio.to_thread(_read_all, master))
    code = await asyncio.wait_for(process.wait(), 30 * SLOW)
    return code, await asyncio.wait_for(shown, 10 * SLOW)


def _read_all(fd):
    out = b""
    try:
        while part := os.read(fd, 65536):
            out += part
    except OSError:  # EIO: nobody has the other side open any more
        pass
    os.close(fd)
    return out


async def piped(ax, *args):
    """(exit code, bytes of standard output, bytes of standard error)"""
    process = await asyncio.create_subprocess_exec(
        own("ax"), *args, env=ax.env, cwd=ax.directory, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL)
    out, err = await asyncio.wait_for(process.communicate(), 30 * SLOW)
    return process.returncode, out, err
