# A pull that asks for heartbeats all the time is counted and named: nats-server cannot be told to refuse it.
# ctest: timeout=60
from harness import eventually, run


async def test(ax):
    await ax.pool("email")
    inbox = ax.nc.new_inbox()
    for heartbeat in (10_000_000, 500_000_000, 0):
        body = b'{"batch":1,"expires":30000000000,"idle_heartbeat":%d}' % heartbeat
        await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", body, reply=inbox)
    await ax.nc.flush()
    await eventually(lambda: ax.dispatch.metric("ax_pulls_waiting") == 3, 10, "the pulls are heard")
    assert ax.dispatch.metric("ax_pulls_hasty_total") == 0
    for _ in range(3):
        await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email",
                            b'{"batch":1,"expires":30000000000,"idle_heartbeat":9000000}', reply=inbox)
    await eventually(lambda: ax.dispatch.metric("ax_pulls_hasty_total") == 3, 10, "they are counted")
    lines = [line for line in ax.dispatch.log().splitlines() if "heartbeats" in line]
    assert len(lines) == 1 and "pool=email idle_heartbeat_ns=9000000" in lines[0], lines


run(test, ingress=1)
