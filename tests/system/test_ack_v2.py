# The server's longer ack subjects (feature flag js_ack_fc_v2): acks end the same way.
# ctest: timeout=120
from harness import run
from acks import acks


async def test(ax):
    tokens = []

    async def handler(task):
        tokens.append(len(task.msg.reply.split(".")))

    await ax.pool("probe")
    probe = await ax.worker("probe", handler, pulls=1)
    await ax.submit("x", "probe", pool="probe")
    await ax.settled(1, 10)
    assert tokens[0] >= 11, f"the server used {tokens[0]} tokens: the flag did nothing"
    ax.workers.remove(probe)
    await probe.stop()
    await acks(ax, already_done=1)


run(test, ack_v2=True)
