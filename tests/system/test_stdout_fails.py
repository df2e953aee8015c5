# What a command prints and cannot write: one line with stream and cause, and exit code 1. A pipe that its reader has
# closed is no failure, and nothing is said about it.
# ctest: timeout=60
import asyncio
import os
import subprocess

from harness import own, run

COMMANDS = [["--help"], ["--version"], ["help"], ["help", "work"], ["submit", "--help"], ["pool", "ls"],
            ["pool", "ls", "--json"], ["dead", "ls"], ["dead", "ls", "--json", "--limit", "20000"], ["cron", "ls"],
            ["status", "--json"], ["submit", "--pool", "email", "x"]]


async def into(ax, stdout, args):
    p = await asyncio.create_subprocess_exec(own("ax"), *args, env=ax.env, stdin=subprocess.DEVNULL, stdout=stdout,
                                             stderr=subprocess.PIPE)
    _, err = await asyncio.wait_for(p.communicate(), 20)
    return p.returncode, err.decode()


async def test(ax):
    await ax.pool("email", {"max_retry": 0})
    await ax.worker("email", lambda task: asyncio.sleep(0, ("term", "no " * 40)))
    await ax.push([(f"k{i}", "x" * 500) for i in range(300)])
    await ax.settled(0, dead=300)
    for args in COMMANDS:
        with open(os.devnull, "w") as null:
            usual, said = await into(ax, null, args)
        with open("/dev/full", "w") as full:
            code, err = await into(ax, full, args)
        lines = err.replace(said, "").splitlines()
        assert code == (usual or 1) and lines == ["ax: stdout: No space left on device"], (args, usual, code, err)
        end, pipe = os.pipe()
        os.close(end)
        code, err = await into(ax, pipe, args)
        os.close(pipe)
        assert (code, err) == (usual, said), (args, usual, code, err)


run(test)
