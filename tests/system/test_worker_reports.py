# What workers report: `ax work` does, in protobuf; any worker may, in JSON. The pool's busy places are counted from it;
# a machine without room lowers the rate of its pool, one with room raises it again; a report that cannot be understood
# is refused by name; a worker that stops is forgotten.
# ctest: timed
# ctest: timeout=120
# ctest: sanitize=address
import asyncio
import json

from harness import eventually, own, run


async def test(ax):
    def metric(name):
        value = ax.dispatch.metric(name)
        return -1 if value is None else value

    # ---- ax work
    await ax.pool("email")
    work = ax.spawn("work", [own("ax"), "work", "email", "--concurrency", "4", "--exec", "read x; sleep 2"])
    heard = []
    sub = await ax.nc.subscribe("ax.worker.email.*")

    async def listen():
        async for msg in sub.messages:
            heard.append(msg)
    listening = asyncio.create_task(listen())
    await eventually(lambda: metric("ax_workers_reporting") == 1, 20, "ax work reports")
    await eventually(lambda: metric("ax_worker_busy_ratio") == 0, 10, "idle")
    await asyncio.gather(*(ax.submit(f"{i}\n", f"k{i}") for i in range(12)))
    await eventually(lambda: any(b"\x08\x04\x10\x04" in m.data[:4] for m in heard), 20, "ax work says 4 of 4 busy")
    assert all(m.headers == {"Ax-Schema": "ax.v1.WorkerReport"} for m in heard), heard[0].headers
    await eventually(lambda: metric("ax_worker_busy_ratio") > 0.1, 20, "the busy ratio")
    await ax.settled(12)
    assert work.stop() == 0
    await eventually(lambda: metric("ax_workers_reporting") == 0, 10, "forgotten as it stops")
    listening.cancel()

    # ---- by hand, in JSON
    await ax.put_pool("email", {"adaptive": True, "tolerance": 10, "fail_ratio": 1})  # nothing but what is reported
    said = {"capacity": 8, "busy": 0, "load": 0.1}

    async def report():
        while True:
            await ax.nc.publish("ax.worker.email.by-hand", json.dumps(said).encode())
            await asyncio.sleep(0.2)
    reporting = asyncio.create_task(report())

    async def handler(task):
        await asyncio.sleep(0.05)
    await ax.worker(handler=handler, pulls=8)
    feeding = asyncio.create_task(ax.push([(None, b"x")] * 20000, producers=1, window=16))
    await eventually(lambda: metric("ax_inflight_limit") >= 8, 40, "as many as there are workers")
    said["load"] = 1
    await eventually(lambda: metric("ax_inflight_limit") <= 5, 40, "no room on the workers' machines")
    text = ax.dispatch.get("/metrics")[1]
    assert 'ax_rate_lowered_total{pool="email",reason="load"} 0' not in text
    assert 'msg="rate lowered" pool=email reason=' in ax.dispatch.log()
    said["load"] = 0.2
    await eventually(lambda: metric("ax_inflight_limit") >= 8, 40, "room again")

    # ---- not understood
    understood = metric("ax_worker_reports_total")
    await ax.nc.publish("ax.worker.email.typo", b'{"capacity":4,"load":7}')
    await eventually(lambda: metric("ax_worker_reports_refused_total") == 1, 10, "refused")
    assert 'msg="worker report refused" pool=email worker=typo error="load: 7 is not allowed, must be a number from 0 to 1"' \
        in ax.dispatch.log()
    await eventually(lambda: metric("ax_worker_reports_total") > understood, 10, "the others go on being heard")
    assert metric("ax_workers_reporting") == 1
    feeding.cancel()
    reporting.cancel()


run(test)
