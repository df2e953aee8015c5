# A daemon that reads nothing for a while is cut off by the server as a slow consumer. It connects again, and nothing is
# lost: the daemon reads or asks again for what the server threw away.
# ctest: timeout=120
import asyncio

from harness import eventually, run

COUNT = 1500
CONFIG = 'write_deadline: "1s"\nmax_pending: 1MB\n'


def cut(ax):
    return ax.server.log().count("Slow Consumer")


async def test(ax):
    await ax.pool("email", {"batch": 100}, ack_wait=6)
    worker = await ax.worker(pulls=4, batch=10)
    await ax.push([(f"a{i}", "x") for i in range(300)], producers=2, window=16)
    await ax.settled(300)

    # Each of them sleeps while more than the server keeps for one client is sent to it.
    for daemon, subject in ((ax.dispatch, "$JS.ACK.AX_WORK.none.1.1.1.1.0"), (ax.ingress, "$JS.EVENT.ADVISORY.STREAM.UPDATED.noise")):
        before = cut(ax)
        pushing = asyncio.create_task(ax.push([(f"{daemon.name}{i}", "x" * 100) for i in range(COUNT // 2)], window=16))
        await asyncio.sleep(0.05)
        daemon.pause()
        noise = b"n" * 65536
        for _ in range(400):
            await ax.nc.publish(subject, noise)
        await ax.nc.flush()
        await eventually(lambda n=before: cut(ax) > n, 15, f"{daemon.name} cut off")
        daemon.resume()
        await eventually(lambda d=daemon: "reconnected to NATS" in d.log(), 10)
        await daemon.ready()
        await pushing
    await ax.settled(300 + COUNT // 2 * 2)
    assert {t.key for t in worker.finished} == {t.key for t in worker.starts}
    assert len({t.key for t in worker.starts}) == 300 + COUNT // 2 * 2
    assert len(worker.starts) == 300 + COUNT // 2 * 2, "a task of a worker that lived ran twice"
    assert (await ax.submit("x", "ax-ingress1"))["duplicate"]


run(test, config=CONFIG)
