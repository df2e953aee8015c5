# "@every 1s" with two ingress instances, one of them killed and started again every few seconds: exactly one task for
# each firing. (Overlap "queue": a firing that a killed instance held is unfinished until its lease is over, and "skip"
# would rightly make no task meanwhile.) AX_TEST_CRON_SECONDS is how long (default 20; 60 for the full minute).
# ctest: timeout=240
import asyncio
import os
import time

from harness import eventually, run

SECONDS = int(os.environ.get("AX_TEST_CRON_SECONDS") or 20)
RESTART_S = 3.5


async def test(ax):
    await ax.pool("email")
    worker = await ax.worker(pulls=2)
    reply = await ax.submit("tick", "beat", headers={"Ax-Cron": "@every 1s", "Ax-Overlap": "queue",
                                                       "Traceparent": "00-ab"})
    assert reply["state"] == "later" and reply["stream"] == "AX_LATER", reply
    first_seq = reply["seq"]
    end = time.monotonic() + SECONDS
    hard = True
    while time.monotonic() < end:
        await asyncio.sleep(min(RESTART_S, max(0.1, end - time.monotonic())))
        await ax.ingresses[1].restart(hard=hard)
        hard = not hard

    # What fires is written by the server into AX_LATER; nothing else is written there in this test.
    state = (await ax.stream("AX_LATER"))["state"]
    answer = await ax.api("STREAM.MSG.DELETE.AX_LATER", {"seq": first_seq})
    assert "error" not in answer, answer
    firings = (await ax.stream("AX_LATER"))["state"]["last_seq"] - first_seq
    assert SECONDS - 3 <= firings <= SECONDS + 30, f"{firings} firings in {SECONDS} s; {state}"

    async def all_done():
        assert await ax.unfinished() == 0
        return len(worker.starts) >= firings
    # An instance that was killed held some: they come again when its lease of 30 s is over.
    await eventually(all_done, 60, f"a task for each of {firings} firings", every=0.2)
    keys = [t.key for t in worker.starts]
    assert len(worker.starts) == firings, f"{firings} firings, {len(worker.starts)} starts: {keys}"
    assert len({t.id for t in worker.starts}) == firings, "two firings share an id"
    assert all(k.startswith("beat@20") and k.endswith("Z") for k in keys), keys
    assert all(t.body == b"tick" and t.attempt == 1 and len(t.id) == 32 for t in worker.starts)
    for task in worker.starts:
        assert task.headers.get("Traceparent") == "00-ab", task.headers
        assert not [h for h in task.headers if h in ("Ax-Cron", "Ax-Overlap", "Ax-Time-Zone")], task.headers
    ids = [t.id for t in worker.starts]
    await ax.ingresses[1].restart()
    assert ids == [t.id for t in worker.starts], "a restart brought a firing back"


run(test, seconds=SECONDS + 90, ingress=2)
