# `ax doctor` names, one line each and worst first: daemons that are down, a pool without a leader, one that is paused,
# one without workers, a full queue, AX_LATER near its bound or with limits that drop tasks, dead letters, or a stream
# that is gone.
# ctest: timeout=150
import asyncio
import json

from harness import LEASE_TTL, Refused, eventually, own, run


async def test(ax):
    async def doctor():
        process = await asyncio.create_subprocess_exec(own("ax"), "doctor", "--json", env=ax.env, stdout=-1, stderr=-1)
        out, _ = await asyncio.wait_for(process.communicate(), 60)
        findings = json.loads(out)["findings"]
        ranks = [("error", "warning", "note").index(f["severity"]) for f in findings]
        assert ranks == sorted(ranks), findings
        assert process.returncode == (1 if ranks and ranks[0] < 2 else 0), (process.returncode, findings)
        return {(f["about"], f["code"]): f for f in findings}

    async def says(*wanted, seconds=20):
        async def check():
            found = await doctor()
            assert set(wanted) <= set(found), f"{set(wanted) - set(found)} not in {[f['about'] + ': ' + f['text'] for f in found.values()]}"
            return found
        return await eventually(check, seconds, f"doctor says {wanted}", every=0.5)

    await ax.pool("email", {"max_retry": 0})
    await ax.pool("rest", {"paused": True})
    await ax.submit("x", "poison", pool="email")
    await ax.submit("x", "later", pool="rest", headers={"Ax-Delay": "1h"})
    await ax.submit("x", "waits", pool="rest")
    found = await says(("pool email", "no_workers"), ("pool rest", "paused"))
    assert "1 task waits" in found["pool email", "no_workers"]["text"]
    assert "1 task waits" in found["pool rest", "paused"]["text"] and found["pool rest", "paused"]["severity"] == "note"
    assert set(found) == {("pool email", "no_workers"), ("pool rest", "paused")}, found

    async def nak(_):
        return "nak"
    worker = await ax.worker("email", nak)
    await ax.bound("AX_LOW", 4)
    await ax.edit_stream("AX_LATER", metadata={"ax.max_later": "1"}, max_age=int(3600e9))
    for i in range(5):
        try:
            await ax.submit("x", f"low-{i}", "low", "rest")
        except Refused as refused:
            assert i == 4 and refused.code == 503, refused
    found = await says(("pool email", "dead_letters"), ("queue low", "queue_full"), ("stream AX_LATER", "later_nearly_full"),
                       ("stream AX_LATER", "stream_drops"), ("pool rest", "paused"))
    assert "4 tasks, 4 of pool rest" in found["queue low", "queue_full"]["text"], found
    assert "1 busy answers" in found["queue low", "queue_full"]["text"], found
    assert "ax dead ls email" in found["pool email", "dead_letters"]["turn"], found
    assert ("pool email", "no_workers") not in found, found
    await worker.stop()
    ax.workers.remove(worker)

    # Both hang, and a stream is gone that they would make again.
    ax.dispatch.pause()
    ax.ingress.pause()
    await ax.api("STREAM.DELETE.AX_EVENTS")
    await says(("ax-dispatch", "no_dispatch"), ("ax-ingress", "no_ingress"), ("stream AX_EVENTS", "stream_missing"))
    ax.ingress.resume()
    ax.dispatch.resume()

    # One of two dispatchers hangs: its pools have a leader that does not answer, until the other one takes over.
    second = ax.daemon("ax-dispatch", 1)
    ax.dispatches.append(second)
    await eventually(lambda: ax.dispatch.metric("ax_pool_led") == 1 and second.metric("ax_pool_led") == 1, 30, "shared")
    second.pause()
    found = await doctor()
    silent = [f for (about, code), f in found.items() if code == "daemon_silent" and about.startswith("ax-dispatch ")]
    led = [f for (about, code), f in found.items() if code == "no_leader"]
    assert len(silent) == 1 and len(led) == 1 and "does not answer" in led[0]["text"], found

    async def taken_over():
        found = await doctor()
        return not any(code in ("no_leader", "daemon_silent") for _, code in found)
    await eventually(taken_over, 20 + 3 * LEASE_TTL, "the other one took over", every=0.5)
    second.kill()


run(test, 140)
