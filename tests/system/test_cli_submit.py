# ax submit and ax status: bodies, keys, headers, refusals, --wait to either end, --lines with a full queue, retries of
# what was not answered; exit codes and JSON as scripts use them.
# ctest: sanitize=address
import asyncio
import json
import os

from harness import SLOW, eventually, own, run


async def cli(ax, *args, stdin=None, seconds=30):
    """(exit code, stdout, stderr) of one ax command."""
    process = await asyncio.create_subprocess_exec(
        own("ax"), *args, env=ax.env, cwd=ax.directory, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL)
    out, err = await asyncio.wait_for(process.communicate(stdin), seconds * SLOW)
    return process.returncode, out.decode(), err.decode()


async def good(ax, *args, **options):
    code, out, err = await cli(ax, *args, **options)
    assert code == 0, f"ax {args} ended with {code}: {err}"
    return out


async def bodies_and_headers(ax):
    await ax.pool("email")
    with open(os.path.join(ax.directory, "body"), "wb") as f:
        f.write(b"\x00from\nfile\xff")
    await good(ax, "submit", "--pool", "email", "--key", "arg", "an argument")
    await good(ax, "submit", "--pool", "email", "--key", "file", "--file", "body", "--priority", "high")
    await good(ax, "submit", "--pool", "email", "--key", "stdin", stdin=b"typed\n")
    await good(ax, "submit", "--pool", "email", "--key", "dash", "-", stdin=b"")
    await good(ax, "submit", "--pool", "email", "--key", "headers", "--header", "traceparent: 00-1", "--max-retry", "7",
               "--backoff", "2s", "x")
    seen = {}

    async def keep(task):
        seen[task.key] = task
    worker = await ax.worker("email", keep)
    await eventually(lambda: len(seen) == 5, 20, "five tasks worked")
    assert {k: t.body for k, t in seen.items()} == {
        "arg": b"an argument", "file": b"\x00from\nfile\xff", "stdin": b"typed\n", "dash": b"", "headers": b"x"}
    assert seen["file"].priority == "high" and seen["arg"].priority == "normal"
    assert seen["headers"].headers["traceparent"] == "00-1"
    assert seen["headers"].headers["Ax-Max-Retry"] == "7"
    await worker.stop()


async def answers(ax):
    first = json.loads(await good(ax, "submit", "--pool", "idle", "--key", "k 1.*>", "--json", "b"))
    assert (first["state"], first["duplicate"], first["stream"]) == ("queued", False, "AX_NORMAL"), first
    again = json.loads(await good(ax, "submit", "--pool", "idle", "--key", "k 1.*>", "--json", "b"))
    assert (again["task"], again["duplicate"]) == (first["task"], True), again

    for name in ("k 1.*>", first["task"]):
        status = json.loads(await good(ax, "status", "--pool", "idle", "--json", name))
        assert (status["state"], status["task"], status["key"]) == ("queued", first["task"], "k 1.*>"), status
        assert (status["pool"], status["priority"], status["attempt"]) == ("idle", "normal", 1), status
    assert json.loads(await good(ax, "status", "--json", first["task"]))["pool"] == "idle"  # by id in any pool

    later = json.loads(await good(ax, "submit", "--pool", "idle", "--delay", "1h", "--json", "b"))
    assert later["state"] == "later", later
    status = json.loads(await good(ax, "status", "--json", later["task"]))
    assert status["state"] == "later" and status["next"] > status["since"], status

    code, out, err = await cli(ax, "status", "never-heard-of")
    assert code == 1 and not out and "unknown" in err and err.count("\n") == 1, (code, out, err)
    code, out, err = await cli(ax, "submit", "--pool", "idle", "--max-retry", "-1", "b")
    assert code == 2 and "--max-retry" in err and err.count("\n") == 1, (code, err)
    code, out, err = await cli(ax, "submit", "--priority", "no such", "b")
    assert code == 2 and "--priority" in err, (code, err)
    for wrong in (["submit", "--nope"], ["submit", "a", "b"], ["submit", "--key", ""], ["nope"], ["status", "a", "b"],
                  ["submit", "--lines", "--key", "k"], ["work", "email"], ["pool", "set", "email"], ["dead", "drop"]):
        code, out, err = await cli(ax, *wrong)
        assert code == 2 and not out and err.count("\n") == 1, (wrong, code, out, err)


async def waiting(ax):
    await ax.pool("wait")

    async def by_body(task):
        return ("term", "no good") if task.body == b"bad" else None
    worker = await ax.worker("wait", by_body)
    out = json.loads(await good(ax, "submit", "--pool", "wait", "--key", "w", "--wait", "--json", "fine"))
    assert out["state"] == "done" and out["fence"] > 0, out
    out = json.loads(await good(ax, "submit", "--pool", "wait", "--key", "w", "--wait", "--json", "fine"))
    assert out["state"] == "done" and out["duplicate"], out
    assert len(worker.starts) == 1
    code, out, _ = await cli(ax, "submit", "--pool", "wait", "--wait", "bad")
    assert code == 1 and "dead" in out and "no good" in out, (code, out)
    await worker.stop()
    code, out, err = await cli(ax, "submit", "--pool", "wait", "--wait=300ms", "fine")
    assert code == 1 and "after 300 ms" in err, (code, out, err)


async def lines(ax):
    await ax.pool("many")
    await ax.bound("AX_LOW", 100)
    text = "".join(f"key-{i % 400}\tbody {i}\n" for i in range(500)) + "keyless without newline"
    code, out, err = await cli(ax, "submit", "--pool", "many", "--priority", "low", "full", "--retry-busy=1")
    assert code == 2, (code, err)
    pushing = asyncio.create_task(cli(ax, "submit", "--lines", "--json", "--pool", "many", "--priority", "low",
                                      stdin=text.encode(), seconds=60))
    await eventually(lambda: full(ax), 20, "AX_LOW full")
    code, out, err = await cli(ax, "submit", "--pool", "many", "--priority", "low", "one more")
    assert code == 75 and "queue low is full" in err and "retry in" in err, (code, out, err)
    bodies = []

    async def keep(task):
        bodies.append(task.body)
    await ax.worker("many", keep, pulls=8)
    code, out, err = await pushing
    summary = json.loads(out)
    assert code == 0 and summary.pop("busy") > 0, (code, out, err)
    assert summary == {"lines": 501, "accepted": 401, "duplicates": 100, "refused": 0, "unanswered": 0, "left": 0}, summary
    await eventually(lambda: len(bodies) >= 401, 60, "all tasks worked")
    assert len(bodies) == len(set(bodies)) == 401 and b"keyless without newline" in bodies

    code, out, err = await cli(ax, "submit", "--lines", "--pool", "many", "--delay", "never", stdin=b"a\nb\n")
    assert code == 1 and "line 1: " in err and "refused 2" in out, (code, out, err)


async def full(ax):
    return (await ax.stream("AX_LOW"))["state"]["messages"] >= 100


async def unanswered(ax):
    """With ingress away a keyed submission keeps trying and gets through once it is back, once."""
    ax.ingress.pause()
    offered = asyncio.create_task(cli(ax, "submit", "--pool", "idle", "--key", "patient", "--json", "b", seconds=60))
    await asyncio.sleep(0.2)
    assert not offered.done()
    ax.ingress.resume()
    code, out, err = await offered
    assert code == 0 and json.loads(out)["state"] == "queued", (code, out, err)

    await ax.command(own("ax"), "pool", "add", "gone")
    ax.ingress.kill()
    code, out, err = await cli(ax, "submit", "--pool", "gone", "b", seconds=60)
    assert code == 1 and "nobody takes submissions" in err, (code, err)
    ax.ingress.start()
    await ax.ingress.ready()


async def test(ax):
    await bodies_and_headers(ax)
    await answers(ax)
    await waiting(ax)
    await lines(ax)
    await unanswered(ax)


run(test)
