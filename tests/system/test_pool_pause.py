# A pool is paused and resumed, with ax and with nats consumer pause: nothing new starts, submissions go on, what runs
# is finished, a restart changes nothing, and other pools do not notice.
import asyncio
import datetime
import subprocess

from harness import eventually, need, own, run


async def command(ax, *argv):
    done = await asyncio.to_thread(subprocess.run, argv, env=ax.env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


async def test(ax):
    await ax.pool("email")
    await ax.pool("other")
    release = asyncio.Event()

    async def handler(task):
        if task.body == b"long":
            await release.wait()

    worker = await ax.worker("email", handler, pulls=3)
    other = await ax.worker("other")
    await ax.submit("long", "long", pool="email")
    await eventually(lambda: len(worker.starts) == 1, 10, "one runs")

    async def quiet(begun):
        """Proof that nothing starts: a task of another pool, submitted later, has come through."""
        seen = len(other.finished)
        for i in range(3):
            await ax.submit("x", pool="other")
            await eventually(lambda n=seen + i: len(other.finished) > n, 10, "the other pool works")
            await asyncio.sleep(0.3)
        assert len(worker.starts) == begun, [t.key for t in worker.starts]

    # by its settings
    await command(ax, own("ax"), "pool", "pause", "email")
    await eventually(lambda: ax.dispatch.metric("ax_pool_paused") == 1, 10, "paused")
    for i in range(5):
        await ax.submit("x", f"a-{i}", pool="email")
    await quiet(1)
    release.set()
    await eventually(lambda: len(worker.finished) == 1, 10, "what runs is finished")
    await ax.dispatch.restart()
    await eventually(lambda: ax.dispatch.metric("ax_pool_led") == 2, 20, "led again")
    await quiet(1)
    assert '"paused": true' in await command(ax, own("ax"), "pool", "ls", "--json") \
        or '"paused":true' in await command(ax, own("ax"), "pool", "ls", "--json")
    await command(ax, own("ax"), "pool", "resume", "email")
    await eventually(lambda: len(worker.finished) == 6, 10, "resumed")

    # by the consumer
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    reply = await ax.api("CONSUMER.PAUSE.AX_WORK.email", {"pause_until": until.isoformat()})
    assert reply.get("paused") is True, reply
    await eventually(lambda: ax.dispatch.metric("ax_pool_paused") == 1, 3, "noticed at once")
    for i in range(5):
        await ax.submit("x", f"b-{i}", pool="email")
    await quiet(6)
    assert await ax.messages("AX_WORK") == 0, "handed to a consumer that is paused"
    await command(ax, need("nats", "AX_NATS_CLI"), "-s", ax.url, "consumer", "resume", "AX_WORK", "email", "-f")
    await eventually(lambda: len(worker.finished) == 11, 10, "resumed by the nats command")
    await ax.settled(11 + len(other.finished))


run(test, 100)
