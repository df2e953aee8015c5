# The permissions that docs/operating.md gives, and nothing more: ingress, dispatch, a producer and a worker do all of
# their work with them, and neither the server nor a client has anything to object.
# ctest: timeout=120
import os
import re

import nats
import nats.errors

from harness import ROOT, Worker, eventually, own
from security import run

ROLES = "producer", "email", "ingress", "dispatch", "operator"


def documented():
    """The block of docs/operating.md as a server's configuration, the role's name for its password."""
    with open(os.path.join(ROOT, "docs", "operating.md")) as f:
        section = f.read().split("## Permissions")[1]
    block = re.search(r"^    authorization \{.*?^    \}", section, re.M | re.S)[0]
    assert re.findall(r'user: "(\w+)"', block) == list(ROLES), block
    return re.sub(r'user: "(\w+)", password: \$\w+', r'user: "\1", password: "\1"', block) + "\n"


def prepare(ax):
    ax.config = documented()
    ax.env.update(NATS_USER="operator", NATS_PASSWORD="operator")
    ax.connect_options = {"user": "operator", "password": "operator"}


def start(ax, role):
    daemon = ax.daemon(f"ax-{role}", 0, ["--user", role, "--password", role, "--inbox-prefix", f"_INBOX_{role}"])
    (ax.ingresses if role == "ingress" else ax.dispatches).append(daemon)
    setattr(ax, role, daemon)
    return daemon


async def as_role(ax, role, problems):
    async def note(error):
        problems.append((role, error))
    nc = await nats.connect(ax.url, user=role, password=role, inbox_prefix=f"_INBOX.{role}", error_cb=note)
    ax.connections.append(nc)
    return nc


class Plain(Worker):
    """A worker on a connection of the role."""

    async def start(self):
        connect, self.ax.connect = self.ax.connect, lambda name: as_role(self.ax, "email", self.problems)
        try:
            return await super().start()
        finally:
            self.ax.connect = connect


async def test(ax):
    problems = []
    for role in ("ingress", "dispatch"):
        await start(ax, role).ready()
    producer = await as_role(ax, "producer", problems)
    js = producer.jetstream()

    # The pool comes with its first task. What can happen to a task happens, what is written anywhere is written.
    first = await js.publish("ax.submit.high.email", b"x", headers={"Nats-Msg-Id": "first"})
    assert first.stream == "AX_HIGH"
    await eventually(lambda: ax.consumer("AX_WORK", "email"), 15)
    await ax.put_pool("email", {"backoff": "100ms", "max_retry": 1})
    await ax.edit_stream("AX_LOW", max_msgs=1, metadata={"ax.rank": "3", "ax.on_full": "spill"})

    async def submit(key, priority="high", **headers):
        answer = await ax.submit("x", key, priority, headers={f"Ax-{k}": v for k, v in headers.items()}, nc=producer,
                                 retry=True)
        return answer["task"]

    await submit("delayed", Delay="300ms")
    await submit("nak")
    await submit("term")
    await submit("spilled-1", "low")
    await submit("spilled-2", "low")
    assert (await ax.submit("x", "first", nc=producer))["duplicate"]
    far, queued = await submit("far", Delay="1h"), await submit("queued", "normal")
    recurring = {"Cron": "@every 1s", "Overlap": "skip"}
    await submit("tick", **recurring)
    assert '"state":"cancelled"' in (await ax.nc.request(f"ax.cancel.email.{far}", b"", timeout=10)).data.decode()
    assert '"state":"cancelled"' in (await ax.nc.request(f"ax.cancel.email.{queued}", b"", timeout=10)).data.decode()
    await producer.publish("ax.submit.high.email", b"x", headers={"Ax-Delay": "never"})  # becomes a dead letter

    async def handler(task):
        return ("term", "no") if task.key == "term" else "nak" if task.key == "nak" and task.attempt == 1 else "ack"

    worker = Plain(ax, "email", handler)
    worker.problems = problems
    ax.workers.append(await worker.start())
    one_by_one = {"first", "delayed", "nak", "spilled-1", "spilled-2"}
    await eventually(lambda: one_by_one <= {t.key for t in worker.finished}, 30)
    await eventually(lambda: sum(t.key not in one_by_one | {"term"} for t in worker.starts) > 1, 20, "firings run")

    # Another start of both, with something to adopt, and the end of the recurring task.
    for role in (ax.dispatch, ax.ingress):
        await role.restart()
    await ax.command(own("ax"), "cron", "rm", "tick", "--pool", "email")
    await submit("last")
    await eventually(lambda: "last" in {t.key for t in worker.finished}, 30)
    assert await ax.messages("AX_DEAD") == 2
    await eventually(lambda: ax.messages("KV_AX_LEASES"), 10)

    # What is not allowed is refused: a producer writes no queue, a worker no other pool's acks.
    await producer.publish("ax.queue.high.email.x", b"")
    await producer.flush()
    await eventually(lambda: problems, 5, "the producer is refused")
    assert len(problems) == 1 and "ax.queue.high.email.x" in str(problems[0]), problems
    objections = [line for line in ax.server.log().splitlines() if "iolation" in line]
    assert len(objections) == 1, "\n".join(objections)


if __name__ == "__main__":
    run(test, prepare, ingress=0, dispatch=0)
