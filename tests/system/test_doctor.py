# The three patterns of docs/operating.md are made side by side, and `ax doctor` names each in one line: workers that
# are the bottleneck, tasks that are held back before idle workers, a timeout ratio that rises. It says that ack_wait is
# too short where living workers are declared dead, as `ax pool ls` does. Nothing wrong: nothing said.
# ctest: timeout=150
import asyncio
import json
import re

from harness import eventually, own, run


async def doctor(ax):
    """{(about, code): line}, exit code. The lines are those without --json."""
    async def call(*args):
        process = await asyncio.create_subprocess_exec(own("ax"), "doctor", *args, env=ax.env, stdout=-1, stderr=-1)
        out, err = await asyncio.wait_for(process.communicate(), 40)
        assert not err, err
        return out.decode(), process.returncode
    text, code = await call("--json")
    report = json.loads(text)
    return {(f["about"], f["code"]): f for f in report["findings"]}, code, report, call


async def test(ax):
    for pool in ("busy", "idle"):
        await ax.pool(pool, {"rate": 0.2} if pool == "idle" else {})
    await ax.pool("tenants", {"group_concurrency": 1})
    await ax.pool("dies", {"backoff": "100ms", "max_timeouts": 50}, ack_wait=1)
    await ax.pool("short", {"backoff": "1m"}, ack_wait=1)
    found, code, report, call = await doctor(ax)
    assert not found and code == 0, found
    assert (report["ingresses"], report["dispatchers"], report["pools"]) == (1, 1, 5), report
    assert (await call())[0].startswith("nothing found: "), await call()

    async def slow(_):
        await asyncio.sleep(0.8)

    async def dying(task):
        return "ack" if well or task.attempt > 3 else "silence"

    async def too_long(task):
        if task.attempt == 1:
            await eventually(lambda: task.id in revoked, 20, "declared dead")  # and acks after all

    well, revoked, stop = True, set(), asyncio.Event()

    async def on_revoke(msg):
        revoked.add(msg.subject.split(".")[3])
    await ax.nc.subscribe("ax.revoke.short.*", cb=on_revoke)
    await ax.worker("busy", slow, pulls=1)
    await ax.worker("idle", pulls=4)
    await ax.worker("tenants", slow, pulls=12)
    await ax.worker("dies", dying, pulls=20)
    await ax.worker("short", too_long, pulls=24)
    sent = 0

    async def produce():
        nonlocal sent
        while not stop.is_set():
            for pool in ("busy", "idle", "dies", "tenants"):
                await ax.submit("x", f"{pool}-{sent}", pool=pool, priority="low", headers={"Ax-Group": "acme"})
            sent += 1
            await asyncio.sleep(0.08)
    producer = asyncio.create_task(produce())
    for i in range(24):
        await ax.submit("x", f"short-{i}", pool="short")
    await eventually(lambda: sent > 20, 20, "some go well first")
    well = False

    async def named():
        found, code, _, _ = await doctor(ax)
        codes = set(found)
        wanted = {("pool busy", "workers_busy"), ("pool idle", "held_back"), ("pool tenants", "held_back"), ("pool dies", "timeouts_rising"),
                  ("pool short", "ack_wait_short"), ("pool short", "timeouts_rising")}
        assert wanted <= codes, wanted - codes
        # nothing that is not so: each of these two has one trouble
        troubles = {"workers_busy", "held_back", "pending_grows", "no_workers", "timeouts", "timeouts_rising", "declared_dead"}
        assert {c for about, c in codes if about == "pool busy"} & troubles == {"workers_busy"}, codes
        assert {c for about, c in codes if about == "pool idle"} & troubles == {"held_back"}, codes
        assert code == 1
        return found
    found = await eventually(named, 60, "each is named", every=1)
    busy, idle = found["pool busy", "workers_busy"], found["pool idle", "held_back"]
    assert "workers are the bottleneck" in busy["text"] and "more workers" in busy["turn"], busy
    assert "its rate (0.2 starts/s) is used up" in idle["text"] and "ax pool set idle rate=" in idle["turn"], idle
    assert "groups that have reached their limits" in found["pool tenants", "held_back"]["text"], found
    assert "workers die" in found["pool dies", "timeouts_rising"]["turn"], found
    short = found["pool short", "timeouts_rising"]
    assert int(re.search(r"(\d+) were acked after all", short["text"])[1]) >= 12 and "--wait" in short["turn"], short
    text, code = await call()
    for about, what in (("busy", "bottleneck"), ("idle", "held back"), ("dies", "timeout ratio rises")):
        lines = [line for line in text.splitlines() if line.startswith(f"warning  pool {about}: ") and what in line]
        assert len(lines) == 1, text

    # What ax pool ls says of the run times.
    pools = {p["pool"]: p for p in json.loads(await ax.command(own("ax"), "pool", "ls", "--json"))}
    assert 700 < pools["busy"]["run_p50_ms"] <= pools["busy"]["run_p99_ms"], pools["busy"]
    assert pools["busy"]["advice"] == [] and pools["busy"]["busy"] > 0.9 and pools["idle"]["busy"] < 0.2, pools
    advice = pools["short"]["advice"]
    assert len(advice) == 2 and "ack_wait 1s is under twice the" in advice[0]["text"] \
        and "living workers are declared dead" in advice[1]["text"], advice
    table = await ax.command(own("ax"), "pool", "ls")
    assert sum("warning: pool short: " in line for line in table.splitlines()) == 2, table

    stop.set()
    await producer
    await ax.edit_consumer("AX_WORK", "short", ack_wait=int(60e9))

    async def quiet():
        pools = {p["pool"]: p for p in json.loads(await ax.command(own("ax"), "pool", "ls", "--json"))}
        return not any("is under" in a["text"] for a in pools["short"]["advice"])
    await eventually(quiet, 15, "a longer ack_wait is enough")


run(test, 140, dispatch_args=("--lease-ttl", "30s"))
