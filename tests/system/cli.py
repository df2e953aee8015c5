"""Runs `ax` for tests of what it prints."""
import asyncio

from harness import SLOW, own


async def cli(ax, *args):
    """(exit code, standard output, standard error)"""
    process = await asyncio.create_subprocess_exec(
        own("ax"), *args, env=ax.env, cwd=ax.directory, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL)
    out, err = await asyncio.wait_for(process.communicate(), 30 * SLOW)
    return process.returncode, out.decode(), err.decode()


async def good(ax, *args):
    """Standard output of a command that succeeds."""
    code, out, err = await cli(ax, *args)
    assert code == 0, f"ax {args} ended with {code}: {err}"
    return out
