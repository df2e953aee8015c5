# Mutated messages at every subject that the daemons listen to, with odd reply subjects. No sanitizer complains, the daemons
# stay ready, another pool's tasks are done meanwhile, and nothing is written but what these senders may cause.
# AX_TEST_SEED: the same messages again. AX_TEST_MESSAGES: another number of them.
# ctest: timeout=120
# ctest: sanitize=address
import asyncio
import json
import os
import re
import time
import urllib.request

import mutants
from harness import SANITIZE, SLOW, eventually, run

SEED = int(os.environ.get("AX_TEST_SEED") or time.time_ns() % 10**9)
MESSAGES = int(os.environ.get("AX_TEST_MESSAGES") or (100_000 if SANITIZE else 20_000))
CHUNK = 2000
ANSWERS = 4000
POOL = r"(?!sms\.)[A-Za-z0-9_-]{1,32}"
ID = r"[A-Za-z0-9]{1,33}"
WRITTEN = {  # what senders of the mutants may cause to be stored, and the tasks of pool sms
    "AX_HIGH": rf"ax\.queue\.high\.{POOL}\.{ID}", "AX_NORMAL": rf"ax\.queue\.normal\.{POOL}\.{ID}",
    "AX_LOW": rf"ax\.queue\.low\.({POOL}|sms)\.{ID}", "AX_WORK": rf"ax\.work\.({POOL}|sms)\.{ID}",
    "AX_LATER": rf"ax\.(later|due)\..*", "AX_SPILL": rf"ax\.spill\.(high|normal)\.{POOL}\.{ID}",
    "AX_DEAD": r"ax\.dead\..*", "AX_EVENTS": r"\$JS\.EVENT\.ADVISORY\.CONSUMER\.(MAX_DELIVERIES|MSG_TERMINATED)\.AX_WORK\..*",
    "KV_AX_DONE": r"\$KV\.AX_DONE\..*", "KV_AX_POOLS": r"\$KV\.AX_POOLS\..*", "KV_AX_LEASES": r"\$KV\.AX_LEASES\..*"}


async def streams(ax):
    reply = await ax.api("STREAM.LIST", timeout=20)
    return {s["config"]["name"]: s["created"] for s in reply["streams"]}


def subscriptions(ax):
    """What each daemon listens to, by the name of its connection; ingress has two."""
    with urllib.request.urlopen(f"http://127.0.0.1:{ax.monitor}/connz?subs=1", timeout=10) as answer:
        return {c["name"]: c.get("subscriptions_list") or [] for c in json.load(answer)["connections"]
                if c["name"].startswith("ax-")}


def covers(subscription, subject):
    pattern = re.escape(subscription).replace(r"\*", "[^.]+").replace(">", ".+")
    return re.fullmatch(pattern, subject)


async def both_answer(ax):
    """Both daemons have handled what came before, or nearly: they answer."""
    inbox = ax.nc.new_inbox()
    sub = await ax.nc.subscribe(inbox)
    await ax.nc.publish("ax.figures", b"", reply=inbox)
    names = set()
    while len(names) < 2:
        names.add(json.loads((await sub.next_msg(timeout=30 * SLOW)).data)["program"])
    await sub.unsubscribe()


async def others(ax, done, stop):
    """Tasks of pool sms, one after the other."""
    loop, worst, n = asyncio.get_running_loop(), 0.0, 0
    while not stop.is_set():
        began = loop.time()
        await ax.submit("x", f"t{n}", "low", "sms", retry=True, timeout=20)
        await eventually(lambda: f"t{n}" in done, 20, f"task {n} of the other pool")
        worst, n = max(worst, loop.time() - began), n + 1
    return worst, n


async def test(ax):
    print(f"AX_TEST_SEED={SEED} AX_TEST_MESSAGES={MESSAGES}", flush=True)
    await ax.pool("email", {"backoff": "1s", "max_retry": 1})
    await ax.pool("sms", {"window": "1h"})
    done, stop, source = [], asyncio.Event(), mutants.Mutants(SEED)

    async def handler(task):
        done.append(task.key)

    await ax.worker("sms", handler)
    listened = subscriptions(ax)
    inboxes = sorted({s for list_ in listened.values() for s in list_ if s.startswith("_INBOX.")})
    missed = [s for list_ in listened.values() for s in list_
              if s not in inboxes and not any(covers(s, t[1]) for t in mutants.TARGETS)
              and not s.startswith("$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED")]
    assert len(listened) == 3 and not missed, f"no mutants for {missed}"
    before = await streams(ax)
    settings = await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.sms")

    meanwhile = asyncio.create_task(others(ax, done, stop))
    sender = mutants.Sender(ax.port)
    await sender.connect()
    began = time.monotonic()
    for sent in range(0, MESSAGES, CHUNK):
        await sender.send([source.message() for _ in range(min(CHUNK, MESSAGES - sent))])
        await both_answer(ax)
        assert not meanwhile.done(), meanwhile.exception()
    stop.set()
    worst, n = await meanwhile
    print(f"{MESSAGES} messages in {time.monotonic() - began:.1f} s, {len(sender.errors)} refused by the server; other pool:"
          f" {n} tasks, {worst:.2f} s at most; {sender.lost} connections lost", flush=True)
    assert sender.lost < MESSAGES / CHUNK / 4, "most messages go through"
    assert done == [f"t{i}" for i in range(n)], "each once"

    for daemon in (ax.ingress, ax.dispatch):
        await daemon.ready(30)

    # Answers to what the daemons ask, from somebody who sees their inboxes.
    for _ in range(0, ANSWERS, CHUNK):
        await sender.send([source.answer(source.random.choice(inboxes)) for _ in range(CHUNK)])
        await both_answer(ax)
    for daemon in (ax.ingress, ax.dispatch):
        await daemon.ready(30)
    assert await streams(ax) == before, "no stream came or went"
    assert (await ax.last("KV_AX_POOLS", "$KV.AX_POOLS.sms"))[1:] == settings[1:]
    for name, pattern in WRITTEN.items():
        odd = [s for s in await ax.subjects(name) if mutants.MARK in s or not re.fullmatch(pattern, s)]
        assert not odd, (name, odd[:10])
    assert ax.ingress.metric("ax_ingress_replies_refused_total") > MESSAGES / 10
    assert ax.dispatch.metric("ax_dispatch_replies_refused_total") > MESSAGES / 100
    assert "Slow Consumer" not in ax.server.log(), "some were not heard"
    for daemon in (ax.ingress, ax.dispatch):
        assert len(daemon.log()) < 2_000_000, f"{daemon.name} logged {len(daemon.log())} bytes"
    sender.close()


run(test, 110)
