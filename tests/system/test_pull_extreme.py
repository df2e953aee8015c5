# ctest: sanitize
# Pull requests with the largest and smallest numbers there are, and acks that ask for more in the same way: nothing
# overflows, and the pool goes on handing out tasks.
import asyncio
import itertools
import json

from harness import eventually, run

NUMBERS = (-2**63, -1, 0, 1, 2**31, 2**63 - 1, 2**63, 10**30, 1.5, "1", None)


async def test(ax):
    await ax.pool("email", {"backoff": "100ms"})
    nc = await ax.connect("extreme")
    inbox = nc.new_inbox()
    answers, tasks = [], []

    async def on_message(msg):
        (tasks if msg.reply else answers).append(msg)
    await nc.subscribe(inbox, cb=on_message)

    async def pull(request):
        await nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", request, reply=inbox)

    requests = [json.dumps({field: number}).encode() for field, number in itertools.product(
        ("batch", "expires", "idle_heartbeat", "max_bytes", "min_pending"), NUMBERS)]
    requests += [str(n).encode() for n in NUMBERS]
    requests += [json.dumps({"batch": b, "expires": e, "idle_heartbeat": h, "max_bytes": m}).encode()
                 for b, e, h, m in itertools.product((1, 2**63 - 1), (1, 2**63 - 1), (0, 2**62), (0, 2**63 - 1))]
    for request in requests:
        await pull(request)
    await nc.flush()
    # The longest pull there is waits for good at the server, and is demand here.
    await eventually(lambda: ax.dispatch.metric('ax_pool_led{pool="email"}') == 1, 10, "the pool led")
    for i in range(20):
        await ax.submit("x", f"order-{i}")
    await eventually(lambda: len(tasks) == 20, 20, "tasks for pulls that never end")
    for i, msg in enumerate(tasks):
        await nc.publish(msg.reply, b"+NXT " + requests[i % len(requests)])
    await ax.settled(20, 20)
    done = {m.headers["Ax-Key"] for m in tasks}

    worker = await ax.worker(pulls=4)
    for i in range(20, 40):
        await ax.submit("x", f"order-{i}")
    async def all_done():  # pulls of both wait side by side
        for msg in [m for m in tasks if m.headers["Ax-Key"] not in done]:
            done.add(msg.headers["Ax-Key"])
            await nc.publish(msg.reply, b"+ACK")
        return len(done) + len(worker.finished) >= 40
    await eventually(all_done, 20, "all tasks at work")
    await ax.settled(40, 20)
    assert ax.dispatch.running()


run(test)
