# The server stops in order, is killed right after a firing, and is killed over one. Each firing is one task; one firing
# makes up for those that were missed; a firing that the server had forgotten and repeats starts nothing.
# ctest: timeout=180
# ctest: timed
import time

from harness import eventually, run

EVERY = 6  # seconds


async def test(ax):
    await ax.pool("email")
    worker = await ax.worker(pulls=2)
    await ax.submit("x", "kill", headers={"Ax-Cron": f"*/{EVERY} * * * * *"})

    async def firing(number, what):
        await eventually(lambda: len(worker.starts) >= number, EVERY + 15, what)
        task = worker.starts[number - 1]
        await eventually(lambda: ax.record(task.id), 5, f"{what}: done")

    async def up():
        ax.server.start()
        await ax.server_ready()

    # Stopped in order it writes down when it fires next, …
    await firing(1, "the first firing")
    ax.server.stop()
    await up()
    await firing(2, "the second firing")
    # … and, killed after that, fires once more what it has fired: the same firing, which is done.
    before = (await ax.stream("AX_LATER"))["state"]["last_seq"]
    ax.server.kill()
    await up()
    await eventually(lambda: repeated(ax, before), EVERY - 1, "the server repeats the second firing")
    await firing(3, "the third firing")
    keys = [t.key for t in worker.starts]
    assert all(int(k[-3:-1]) % EVERY == 0 for k in keys), f"a firing ran twice, or outside its times: {keys}"

    # Over a firing: one makes up for it.
    ax.server.kill()
    missed = (time.time() // EVERY + 1) * EVERY
    await eventually(lambda: time.time() > missed + 1, EVERY + 5, "the time of a firing passes")
    await up()
    await firing(4, "what was missed is made up for")
    await firing(5, "and then the next one")
    keys = [t.key for t in worker.starts]
    assert len({t.id for t in worker.starts}) == len(keys) == 5, f"a firing ran twice: {keys}"
    assert int(keys[3][-3:-1]) % EVERY != 0, f"what was missed was not made up for: {keys}"
    assert int(keys[4][-3:-1]) % EVERY == 0, keys


async def repeated(ax, before):
    return (await ax.stream("AX_LATER"))["state"]["last_seq"] > before


run(test, seconds=150)
