# A pool's consumer on AX_WORK that is deleted is made again as an operator had set it, also by a dispatcher that never
# saw it; a backoff with a higher max_deliver is put back whole. The log and `ax doctor` say so.
# ctest: timeout=90
import json

from harness import QUEUES, eventually, own, run

S = 10**9


async def test(ax):
    await ax.pool("email")
    worker = await ax.worker("email")

    async def is_set(stream, **fields):
        config = (await ax.consumer(stream, "email"))["config"]
        assert all((config.get(k) or None) == v for k, v in fields.items()), config
        return True

    async def kept(wait):
        for stream in QUEUES.values():
            await is_set(stream, ack_wait=int(wait * 1.1 * S), max_deliver=-1)
        return True

    def logged(*words):
        return any(all(w in line for w in words) for line in ax.dispatch.log().splitlines())

    await ax.cli("consumer", "edit", "AX_WORK", "email", "--wait", "60s", "--max-pending", "100", "-f")
    await eventually(lambda: kept(60), 15, "the queues' consumers follow")

    await ax.cli("consumer", "rm", "AX_WORK", "email", "-f")
    await eventually(lambda: is_set("AX_WORK", ack_wait=60 * S, max_ack_pending=100, max_deliver=1), 15, "made as it was")
    await eventually(lambda: logged("email on AX_WORK was missing", "ack_wait=1m max_ack_pending=100"), 5, "said")
    findings = json.loads(await ax.command(own("ax"), "doctor", "--json"))["findings"]
    said = [f for f in findings if f["code"] == "consumer_made_again"]
    assert len(said) == 1 and said[0]["about"] == "pool email" and said[0]["severity"] == "note", findings
    assert "ack_wait=1m max_ack_pending=100" in said[0]["text"], said

    # Max pending alone is kept, too, and nobody who had seen it is there any more.
    await ax.cli("consumer", "edit", "AX_WORK", "email", "--max-pending", "50", "-f")

    async def noted():
        metadata = (await ax.consumer("AX_LOW", "email"))["config"]["metadata"]
        return json.loads(metadata["ax.work"])["max_ack_pending"] == 50
    await eventually(noted, 15, "noted")
    assert ax.dispatch.stop() == 0
    await ax.cli("consumer", "rm", "AX_WORK", "email", "-f")
    ax.dispatch.start()
    await ax.dispatch.ready()
    await eventually(lambda: is_set("AX_WORK", ack_wait=60 * S, max_ack_pending=50), 15, "made by another one")

    # A backoff replaces the ack wait: all of it is put back.
    await ax.edit_consumer("AX_WORK", "email", backoff=[S, 2 * S], max_deliver=3)
    await eventually(lambda: is_set("AX_WORK", ack_wait=60 * S, max_deliver=1, backoff=None), 15, "put back whole")
    await eventually(lambda: logged("backoff removed", "max_deliver 3 set back to 1", "ack_wait 1000 ms set to 60000 ms"),
                     5, "said")
    await ax.edit_consumer("AX_HIGH", "email", backoff=[S], max_deliver=2)
    ax.dispatch.kill()
    await ax.dispatch.restart()
    await eventually(lambda: is_set("AX_HIGH", ack_wait=66 * S, max_deliver=-1, backoff=None), 15, "the queue's as well")
    await kept(60)

    for priority in QUEUES:
        await ax.submit("x", f"key-{priority}", priority)
    await ax.settled(done=3)
    assert len(worker.starts) == 3, worker.starts


run(test)
