# A replica that is behind answers reads all the same. Ingress, connected beside one, does not believe that it has read
# the records of finished tasks to their end before it has: no finished key passes as new.
# ctest: timeout=120
import asyncio
import hashlib
import time

from cluster import ACCOUNTS, run
from cluster_links import Links
from harness import eventually, own
from wire import field

FIRST, MISSED = 100, 500
HELD_S = 2.5  # shorter than an election


def task_id(key, pool="email"):
    return hashlib.sha256(pool.encode() + b"\0" + key.encode()).hexdigest()[:32]


async def record(nc, first, count):
    """Records of finished tasks as dispatch writes them, with the server's word for each."""
    async def one(i):
        value = field(1, 1) + field(2, "email") + field(3, 1) + field(4, i + 1) + field(5, time.time_ns())
        await nc.request(f"$KV.AX_DONE.{task_id(f'k{i}')}", value, timeout=10)
    await asyncio.gather(*(one(i) for i in range(first, first + count)))


async def lead_nothing(c, node):
    if c.meta_leader() == node.name:
        await c.step_down_meta()
    for what, leader in (await c.leaders()).items():
        if leader == node.name and what != "meta":
            await c.step_down(*what.split("/"), to="n1")


def answers_reads(node):
    found = node.get("/subsz?subs=1&acc=AX&test=$JS.API.DIRECT.GET.KV_AX_DONE")["subscriptions_list"]
    return any(sub["subject"] == "$JS.API.DIRECT.GET.KV_AX_DONE" for sub in found)


async def test(ax):
    c = ax.cluster
    behind = c.nodes[2]
    await ax.command(own("ax"), "init")
    await c.ready()
    await lead_nothing(c, behind)
    nc = await c.connection(c.nodes[0])
    await record(nc, 0, FIRST)
    await c.ready()
    await eventually(lambda: answers_reads(behind), 10, "the replica answers reads")

    c.links.cut(behind.name)
    held = time.monotonic()
    await record(nc, FIRST, MISSED)
    ingress = ax.daemon("ax-ingress", 0, ["--server", behind.url])
    ax.ingresses.append(ingress)
    await ingress.ready()
    await eventually(lambda: ingress.metric("ax_ingress_filter_entries") == FIRST, 5, "the replica was read")
    beside = await c.connection(behind)

    async def all_known():
        keys = [f"k{i}" for i in range(FIRST + MISSED)]
        answers = await asyncio.gather(*(ax.submit("x", key, nc=beside) for key in keys))
        wrong = [a for a in answers if not (a["duplicate"] and a["state"] == "done")]
        assert not wrong, f"{len(wrong)} of {len(keys)} finished keys were taken again, {wrong[0]}"

    asked = asyncio.create_task(all_known())
    await asyncio.sleep(max(0, held + HELD_S - time.monotonic()))
    c.links.release()
    await asked
    await eventually(lambda: ingress.metric("ax_ingress_filter_entries") >= (FIRST + MISSED) * 0.99, 15,
                     f"{FIRST + MISSED} records in the filter")
    await all_known()


run(test, ingress=0, dispatch=0, cluster={
    "links": Links(), "accounts": ACCOUNTS.replace("jetstream: enabled", "jetstream { cluster_traffic: owner }")})
