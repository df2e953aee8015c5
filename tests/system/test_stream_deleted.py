# Streams and consumers deleted under the running daemons are made again, the log says so, and tasks flow again. Not at
# once: the server removes the directory of a stream after it has reported it gone, and would remove the new one's.
# ctest: timeout=150
import datetime

from harness import SLOW, eventually, run


async def test(ax):
    await ax.pool("email", {"backoff": "50ms"})
    seen = set()

    async def handler(task):
        if task.key.startswith("retry") and task.attempt == 1:
            return "nak"
        seen.add(task.key)

    await ax.worker(handler=handler)
    log = lambda: ax.ingress.log() + ax.dispatch.log()  # noqa: E731

    async def works(label):
        """A plain task, one with a retry and a duplicate go all the way."""
        async def taken(key):
            try:
                return await ax.submit("x", key, timeout=2)
            except Exception as error:  # noqa: BLE001  busy or no answer while the stream is away
                taken.last = error
                return None
        for key in (f"plain-{label}", f"retry-{label}"):
            reply = await eventually(lambda k=key: taken(k), 20, f"{key} taken")
            assert reply["stream"], reply
            await eventually(lambda k=key: k in seen, 20 * SLOW, f"{key} done")

    await works("before")
    for stream in ("AX_HIGH", "AX_LATER", "KV_AX_DONE", "AX_DEAD", "AX_SPILL", "AX_EVENTS"):
        assert (await ax.api(f"STREAM.DELETE.{stream}")).get("success"), stream
        deleted = datetime.datetime.now(datetime.UTC)
        again = await eventually(lambda s=stream: ax.stream(s), 15, f"{stream} is there again")
        paused = datetime.datetime.fromisoformat(again["created"]) - deleted
        assert paused.total_seconds() > 0.9, f"{stream} was made while the old one was still on its way out: {paused}"
        await eventually(lambda s=stream: s in log(), 5, f"{stream} named in the log")
        await works(f"after {stream}")
    for stream in ("AX_WORK", "AX_HIGH"):
        assert (await ax.api(f"CONSUMER.DELETE.{stream}.email")).get("success"), stream
        await eventually(lambda s=stream: ax.consumer(s, "email"), 15, f"consumer email on {stream} is there again")
        await works(f"after the consumer on {stream}")
    assert (await ax.consumer("AX_WORK", "email"))["config"]["max_deliver"] == 1
    assert (await ax.api("CONSUMER.DELETE.AX_LATER.feeder-high")).get("success")
    await works("after the feeder's consumer")
    assert (await ax.stream("AX_HIGH"))["config"]["max_msgs"] == 1000


run(test, 140)
