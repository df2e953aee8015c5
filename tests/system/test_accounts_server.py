# What lies between a team's account and AX's: a pull request that waits longer than the server keeps its way back (its
# task goes nowhere and comes again soon), one with heartbeats that waits as long, the longer ack subjects, a server that
# is restarted under load, and a team that is added to a running server.
# ctest: timeout=150
import asyncio
import json
import signal
import time

from accounts import TEAMS, access, run
from harness import eventually

NEXT = "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email"


def pull(seconds, **more):
    return json.dumps({"batch": 1, "expires": int(seconds * 1e9), **more}).encode()


async def long_pulls(ax):
    """--pull-wait is 2 s here: after 4 s at the latest the way back is gone."""
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=1)
    nc = await ax.seat("mail-email").connect()
    lasting = await nc.subscribe(nc.new_inbox())
    await nc.publish(NEXT, pull(30, idle_heartbeat=500_000_000), reply=lasting.subject)
    await asyncio.sleep(6)  # what is tested is the time itself
    await ax.submit("x", "with-heartbeats", nc=await ax.seat("mail-producer").connect())
    while not (msg := await lasting.next_msg(timeout=5)).reply:
        pass
    assert msg.headers["Ax-Key"] == "with-heartbeats" and msg.reply.startswith("$JS.ACK."), msg
    await msg.ack_sync(timeout=5)
    await ax.settled(1, 20)

    lost = await nc.subscribe(nc.new_inbox())
    await nc.publish(NEXT, pull(30), reply=lost.subject)
    await asyncio.sleep(6)
    started = time.monotonic()
    await ax.submit("x", "lost")
    await eventually(lambda: ax.dispatch.metric("ax_timeouts_total"), 20, "the attempt that went nowhere times out")
    worker = await ax.seat("mail-email").worker("email")
    await ax.settled(2, 20)
    took = time.monotonic() - started
    assert [t.attempt for t in worker.starts] == [2] and lost.pending_msgs == 0
    print(f"a task handed to a pull request that was gone ran again after {took:.1f} s (ack wait 1 s, backoff 0.1 s)")
    await worker.stop()


async def restart_under_load(ax):
    await ax.pool("email", {"backoff": "100ms"}, ack_wait=2)
    workers = [await ax.seat("mail-email").worker("email", pulls=8, record=False) for _ in range(2)]
    keys, go_on = [], True

    def load():
        while go_on:
            keys.append(f"load-{len(keys)}")
            yield keys[-1], "x"

    connect, ax.connect = ax.connect, ax.seat("mail-producer").connect
    try:
        pushing = asyncio.create_task(ax.push(load(), producers=2, window=4))
        for _ in range(2):
            await eventually(lambda n=len(workers[0].finished): len(workers[0].finished) > n + 100, 30, "tasks are finished")
            ax.server.stop()
            ax.server.start()
            await ax.server_ready()
        await eventually(lambda n=len(workers[0].finished): len(workers[0].finished) > n + 100, 30, "tasks are finished")
        go_on = False
        answers = await pushing
    finally:
        ax.connect = connect
    assert answers["queued"] + answers["duplicate"] == len(keys) > 300, answers
    await ax.settled(2 + len(keys), 60)
    assert {t.key for w in workers for t in w.finished} >= set(keys)
    for worker in workers:
        await worker.stop()


async def new_team(ax):
    """A third team joins the running server; the two others do not notice."""
    nc = await ax.seat("mail-producer").connect()
    before = nc.stats["reconnects"]
    text = access(*(a for t in (*TEAMS, "late:pools=push") for a in ("--team", t)), "--passwords", "passwords",
                  "--pull-wait", "2s", cwd=ax.directory)
    conf = ax.server.argv[-1]
    head = open(conf).read().split("# Printed by")[0]
    with open(conf, "w") as f:
        f.write(head + text)
    for i in (1, 2):  # nats-server connects the imports of an account that a reload brought at the next one only
        ax.server.p.send_signal(signal.SIGHUP)
        await eventually(lambda i=i: ax.server.log().count("Reloaded server") == i, 10)
    late = await ax.seat("late-producer").connect()
    assert (await ax.submit("x", "k", "low", "push", nc=late))["state"] == "queued"
    worker = await ax.seat("late-push").worker("push")
    await eventually(lambda: len(worker.finished) == 1, 20)
    assert (await ax.submit("x", "still-here", nc=nc))["state"] == "queued"
    worker = await ax.seat("mail-email").worker("email")
    await eventually(lambda: [t.key for t in worker.finished] == ["still-here"], 20)
    assert nc.stats["reconnects"] == before, "a producer of another team was cut off"
    assert "error" not in ax.server.log().split("Reloaded")[1].lower(), ax.server.log()


async def test(ax):
    await long_pulls(ax)
    await restart_under_load(ax)
    await new_team(ax)


run(test, seconds=140, access_args=["--pull-wait", "2s"])
