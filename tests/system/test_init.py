# streams/*.json are what `nats stream add --config` takes and what `ax init` makes; ax init creates what is missing,
# leaves what operators changed, and may run many times at once.
# ctest: sanitize=address
import asyncio
import glob
import json
import os

from harness import ROOT, own, run


def wanted():
    files = glob.glob(os.path.join(ROOT, "streams", "*.json"))
    return {os.path.basename(f)[:-len(".json")]: (f, json.load(open(f))) for f in files}


def differences(want, have):
    return {k: (v, have.get(k)) for k, v in want.items() if k != "metadata" and have.get(k) != v} | {
        k: (v, (have.get("metadata") or {}).get(k)) for k, v in want.get("metadata", {}).items()
        if (have.get("metadata") or {}).get(k) != v}


async def all_as_wanted(ax):
    for name, (_, want) in wanted().items():
        have = (await ax.stream(name))["config"]
        # The server leaves out what is at its default.
        have = {"max_age": 0, "duplicate_window": None, **have}
        assert not differences(want, have), f"{name}: {differences(want, have)}"


async def init(ax):
    output = await ax.command(own("ax"), "init", "--json")
    return json.loads(next(line for line in output.splitlines() if line.startswith("{")))  # among log lines


async def test(ax):
    assert len(wanted()) == 11, sorted(wanted())

    # By hand, with the nats CLI alone.
    for name, (path, _) in wanted().items():
        await ax.cli("stream", "add", "--config", path)
    await all_as_wanted(ax)
    assert (await init(ax))["created"] == []

    # What an operator changed stays, what is missing comes back.
    await ax.cli("stream", "edit", "AX_HIGH", "--max-msgs", "10", "-f")
    await ax.cli("stream", "edit", "AX_DEAD", "--max-age", "1d", "-f")
    await ax.cli("stream", "rm", "AX_LOW", "-f")
    await ax.cli("stream", "rm", "KV_AX_POOLS", "-f")
    assert sorted((await init(ax))["created"]) == ["AX_LOW", "KV_AX_POOLS"]
    assert (await ax.stream("AX_HIGH"))["config"]["max_msgs"] == 10
    assert (await ax.stream("AX_DEAD"))["config"]["max_age"] == 86400 * 10**9
    assert (await ax.stream("AX_LOW"))["config"]["max_msgs"] == 10000

    # From nothing, several at once.
    for name in wanted():
        await ax.cli("stream", "rm", name, "-f")
    results = await asyncio.gather(*(init(ax) for _ in range(4)))
    assert {s for r in results for s in r["created"]} == set(wanted()), results
    await all_as_wanted(ax)

    # The buckets are buckets to everybody.
    await ax.cli("kv", "put", "AX_POOLS", "email", '{"rate":5}')
    assert (await ax.cli("kv", "get", "AX_POOLS", "email", "--raw")).strip() == '{"rate":5}'
    listed = await ax.cli("kv", "ls", "--names")
    assert {"AX_DONE", "AX_POOLS", "AX_LEASES"} <= set(listed.split()), listed

    # Every priority has its feeders.
    for priority in ("high", "normal", "low"):
        for stream, stage in (("AX_LATER", "due"), ("AX_SPILL", "spill")):
            config = (await ax.consumer(stream, f"feeder-{priority}"))["config"]
            assert config["filter_subject"] == f"ax.{stage}.{priority}.>", config


run(test, ingress=0, dispatch=0)
