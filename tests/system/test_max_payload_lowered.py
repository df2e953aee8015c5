# The server's max_payload is lowered below a task that it has stored. The task can neither be handed off nor become a
# dead letter: it stays in its queue, which is said once. When the limit is raised again it runs.
# ctest: sanitize=address
import os
import re

from harness import eventually, run

LARGE, SMALL = 1 << 20, 1 << 18


async def limit(ax, most):
    """Restarts the server with another max_payload."""
    path = os.path.join(ax.directory, "nats.conf")
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(re.sub(r"max_payload: \d+", f"max_payload: {most}", text))
    reconnects = ax.dispatch.log().count("reconnected to NATS")
    ax.server.stop()
    ax.server.start()
    await ax.server_ready()
    await eventually(lambda: ax.dispatch.log().count("reconnected to NATS") > reconnects, 20, "connected again")


async def test(ax):
    await ax.pool("email", ack_wait=1)
    await ax.submit(b"x" * (LARGE // 2), "large")
    await limit(ax, SMALL)
    worker = await ax.worker(pulls=1)
    await eventually(lambda: (ax.dispatch.metric("ax_too_large_total") or 0) >= 3, 40, "tried again and again")
    said = [line for line in ax.dispatch.log().splitlines() if "task=" in line and ("dead letter" in line or "lease" in line)]
    assert len(said) == 2, said  # that it should be one, and that this could not be written
    assert await ax.messages("AX_DEAD") == 0 and await ax.messages("AX_HIGH") == 1 and not worker.starts
    await limit(ax, LARGE)
    await eventually(lambda: worker.finished, 30, "it runs")
    assert worker.starts[0].attempt == 1 and len(worker.starts[0].body) == LARGE // 2
    await ax.settled(1)


run(test, max_payload=LARGE)
