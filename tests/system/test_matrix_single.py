# One account for all: what a producer publishes, and whatever reply subject it names, reaches nothing of AX's. A worker's
# requests are answered by nats-server itself, which looks at no reply subject: that it reaches everything is the limit that
# docs/security.md states, and why teams that do not trust each other have accounts. Prints the matrix role × action.
# ctest: timeout=150
import re

from accounts import ONE_TEAM, run
from harness import ROOT, eventually
from matrix import Matrix, requests_of_worker, submissions

# nats-server answers these with its own rights.
SERVER_ANSWERS = {"info", "pull", "bad pull", "ack", "next", "ack of a task"}
# Every inbox looks alike to the daemons: they cannot know whose it is.
INBOXES = {"write to another's inbox"}


def stated():
    with open(f"{ROOT}/docs/security.md") as f:
        return re.sub(r"\s+", " ", f.read())


async def test(ax):
    await ax.pools("email", "invoice")
    matrix = Matrix(ax)
    await matrix.listen()
    await matrix.check_itself()
    producer, worker = await ax.seat("producer").connect(), await ax.seat("email").connect()
    requests = {"producer": submissions("email"), "worker": requests_of_worker("email")}
    await matrix.play("producer", producer, requests["producer"])
    await matrix.play("worker", worker, requests["worker"])
    await matrix.play_acks("worker", worker, "email", lambda: ax.submit(b"x", nc=producer))
    await matrix.settle([(producer, requests["producer"]["submission"]), (worker, requests["worker"]["info"])])
    matrix.print()
    reached = matrix.reached()
    by_daemons = sorted(cell for cell in reached if cell[1] not in SERVER_ANSWERS and cell[2] not in INBOXES)
    assert not by_daemons, by_daemons
    by_server = {action for _, road, action in reached if road == "pull"}
    by_server &= {action for _, road, action in reached if road == "ack of a task"}
    assert "delete a stream" in by_server, "nats-server looks at reply subjects now: docs/security.md may say more"
    for limit in ("nats-server publishes its answer there with its own rights", "an answer of AX's into it"):
        assert limit in stated(), limit
    for daemon in ax.ingresses + ax.dispatches:
        await eventually(lambda d=daemon: d.get("/readyz")[0] == 200, 5, f"{daemon.name} is ready")


run(test, seconds=120, teams=ONE_TEAM, single=True)
