# Users that may subscribe to inboxes of their own prefix only: ingress, dispatch, a producer, a worker and the commands of
# ax do all of their work, and the server has nothing to object.
# ctest: timeout=120
import asyncio
import json

import nats

from harness import Worker, eventually, own
from security import run
from test_permissions import documented

USERS = "producer", "email", "ingress", "dispatch"
ANSWERED = "_INBOX_producer", "_INBOX_tool"


def prepare(ax):
    blocks = documented().split("{ user:")
    for i, block in enumerate(blocks):
        for user in USERS:
            if block.startswith((f' "{user}"', f" {user},")):
                rights, subjects = block.split("subscribe:")
                answers = ", ".join(f'"{prefix}.>"' for prefix in ANSWERED)
                blocks[i] = rights.replace('"_INBOX.>"', answers) + "subscribe:" + subjects.replace(f"_INBOX.{user}.>", f"_INBOX_{user}.>")
                assert "_INBOX_" in blocks[i], block
    tool = ' "tool", password: "tool", permissions: { publish: ">", subscribe: [ "_INBOX_tool.>", "ax.revoke.email.*",' \
           ' "$KV.AX_DONE.>", "ax.dead.>", "$JS.EVENT.ADVISORY.STREAM.DELETED.AX_WORK" ] } }\n            '
    ax.config = "{ user:".join([*blocks[:-1], tool, blocks[-1]])
    ax.connect_options = {"user": "operator", "password": "operator"}


def start(ax, role):
    daemon = ax.daemon(f"ax-{role}", 0, ["--user", role, "--password", role, "--inbox-prefix", f"_INBOX_{role}",
                                         "--reply-prefixes", ",".join(ANSWERED)])
    setattr(ax, role, daemon)
    return daemon


async def as_role(ax, role, problems):
    async def note(error):
        problems.append((role, error))
    nc = await nats.connect(ax.url, user=role, password=role, error_cb=note, inbox_prefix=f"_INBOX_{role}")
    ax.connections.append(nc)
    return nc


class Plain(Worker):
    problems = None

    async def start(self):
        connect, self.ax.connect = self.ax.connect, lambda name: as_role(self.ax, "email", self.problems)
        try:
            return await super().start()
        finally:
            self.ax.connect = connect


async def commands(ax):
    """Each command of ax that talks to the server."""
    tool = {"NATS_USER": "tool", "NATS_PASSWORD": "tool", "AX_INBOX_PREFIX": "_INBOX_tool"}

    def command(*args, **options):
        return ax.command(own("ax"), *args, env=tool, **options)
    await command("init")
    assert '"state":"queued"' in await command("submit", "--pool", "email", "--key", "one", "--json", "body")
    lines = "".join(f'{{"key":"line-{i}","body":"x"}}\n' for i in range(200)).encode()
    await command("submit", "--pool", "email", "--lines", stdin=lines)
    await command("submit", "--pool", "email", "--key", "far", "--delay", "1h", "body")
    await command("submit", "--pool", "email", "--key", "tick", "--cron", "@daily", "body")
    assert json.loads((await command("status", "far", "--pool", "email", "--json")).splitlines()[-1])["state"] == "later"
    assert "tick" in await command("cron", "ls")
    await command("cancel", "far", "--pool", "email")
    await command("cron", "rm", "tick", "--pool", "email")
    assert "email" in await command("pool", "ls")
    await command("pool", "set", "email", "max_retry=0")
    await command("dead", "ls")
    await command("doctor", "--for", "1s", check=False)

    work = ax.spawn("work", [own("ax"), "work", "email", "--exec", "true", "--concurrency", "8"], env=tool)
    await command("submit", "--pool", "email", "--key", "waited", "--wait", "--timeout", "30s", "body")
    await eventually(lambda: ax.done(), 10)
    await eventually(lambda: _is_empty(ax), 30, "ax work did all of it")
    assert work.stop(15) == 0, work.log()
    return 203  # one, lines, waited, and far, whose record says that it was cancelled


async def _is_empty(ax):
    return await ax.unfinished() == 0


async def test(ax):
    problems = []
    for role in ("ingress", "dispatch"):
        await start(ax, role).ready()
    producer = await as_role(ax, "producer", problems)
    worker = Plain(ax, "email")
    worker.problems = problems
    ax.workers.append(await worker.start())
    answers = await asyncio.gather(*(ax.submit("x", f"plain {i}", nc=producer) for i in range(100)))
    assert all(not a["duplicate"] for a in answers)
    await eventually(lambda: len(worker.finished) == 100, 20)
    await worker.stop()
    ax.workers.remove(worker)
    done = await commands(ax)
    for daemon in (ax.dispatch, ax.ingress):
        await daemon.restart()
    await eventually(lambda: _is_done(ax, 100 + done), 10)
    assert ax.ingress.metric("ax_ingress_replies_refused_total") == 0

    # An inbox that neither daemon was told of is not answered.
    task = await ax.nc.subscribe("_INBOX_else.x")
    await ax.nc.publish("ax.figures", b"", reply="_INBOX_else.x")
    await eventually(lambda: ax.ingress.metric("ax_ingress_replies_refused_total") == 1
                     and ax.dispatch.metric("ax_dispatch_replies_refused_total") == 1, 10)
    assert task.pending_msgs == 0
    assert not problems, problems
    objections = [line for line in ax.server.log().splitlines() if "iolation" in line]
    assert not objections, "\n".join(objections)


async def _is_done(ax, n):
    return await ax.done() == n


run(test, prepare, ingress=0, dispatch=0)
