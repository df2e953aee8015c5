# A leader is cut off with hand-offs on their way. It loses its lease, others run those tasks, and the server is
# restarted, so it has forgotten all of these hand-offs. When the old leader is connected again, it does not send them.
# ctest: sanitize=address
import asyncio

from harness import LEASE_TTL, SLOW, eventually, run
from leaders import leader, led_by

TASKS, RATE = 60, 20


async def test(ax):
    await ax.pool("email", {"rate": RATE, "burst": 5})
    old = await eventually(lambda: leader(ax, "email"), 10, "one leader")
    other = next(d for d in ax.dispatches if d is not old)
    for i in range(TASKS):
        await ax.submit("x", f"order-{i}")
    worker = await ax.worker(pulls=50)
    await eventually(lambda: len(worker.starts) > 10, 20, "under way")

    ax.server.pause()
    running = len(worker.starts) - len(worker.finished)
    await eventually(lambda: old.metric("ax_inflight") > running, 10, "hand-offs without an answer")
    ax.server.kill()
    await eventually(lambda: "disconnected" in old.log(), 10, "it notices")
    # Those that come due while nobody is there: nats.c would keep them, too.
    await eventually(lambda: '"lease lost" pool=email' in old.log(), 4 * LEASE_TTL, "the lease is lost")
    old.pause()
    ax.server.start()
    await ax.server_ready()
    await eventually(lambda: led_by(other) == {"email"}, 6 * LEASE_TTL, "the other one leads")
    await ax.settled(TASKS, 60)
    started = len(worker.starts)
    hand_offs = (await ax.stream("AX_WORK"))["state"]["last_seq"]

    ax.server.kill()  # the message ids of what is gone are forgotten
    ax.server.start()
    await ax.server_ready()
    old.resume()
    await eventually(lambda: "reconnected" in old.log(), 20, "it is back")
    await ax.submit("x", "last")
    await ax.settled(TASKS + 1, 30)
    await asyncio.sleep(4 * SLOW)  # longer than until a publish without an answer is repeated
    again = [t.key for t in worker.starts[started:]]
    assert again == ["last"], again
    assert (await ax.stream("AX_WORK"))["state"]["last_seq"] == hand_offs + 1


run(test, dispatch=2)
