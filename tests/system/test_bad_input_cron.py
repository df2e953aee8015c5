# Recurring tasks that are wrong: each is refused with the field, the value and what is allowed; nothing is stored.
# ctest: timeout=120
# ctest: sanitize=address
import json

import wire
from harness import Refused, run

SIX = "six fields: second minute hour day month weekday"
BAD = [
    # headers, words of the answer
    ({"Ax-Cron": "9 * * 1-5"}, ["Ax-Cron", "9 * * 1-5", "4 fields", SIX]),
    ({"Ax-Cron": "60 9 * * 1-5"}, ["Ax-Cron", "60 9 * * 1-5", SIX]),
    ({"Ax-Cron": "0 30 9 * * 1-5 2030"}, ["7 fields", SIX]),
    ({"Ax-Cron": "0 0 0 30 2 *"}, ["Ax-Cron", "0 0 0 30 2 *", SIX]),
    ({"Ax-Cron": "0 0 0 31 4,6 *"}, ["Ax-Cron", "31", SIX]),
    ({"Ax-Cron": "60 * * * * *"}, ["Ax-Cron", "60", SIX]),
    ({"Ax-Cron": "0 0 24 * * *"}, ["Ax-Cron", "24", SIX]),
    ({"Ax-Cron": "0 0 0 * * MO"}, ["Ax-Cron", "MO", SIX]),
    ({"Ax-Cron": "@every 0s"}, ["Ax-Cron", "@every 0s", "1s"]),
    ({"Ax-Cron": "@every 500ms"}, ["Ax-Cron", "@every 500ms", "1s"]),
    ({"Ax-Cron": "@every -1s"}, ["Ax-Cron", "@every -1s", "1s"]),
    ({"Ax-Cron": "@every 1.5s"}, ["Ax-Cron", "@every 1.5s", "whole seconds"]),
    ({"Ax-Cron": "@every"}, ["Ax-Cron", "@every", SIX]),
    ({"Ax-Cron": "@sometimes"}, ["Ax-Cron", "@sometimes", "@hourly", SIX]),
    ({"Ax-Cron": "@at 2030-01-31T09:00:00Z"}, ["Ax-Cron", SIX]),
    ({"Ax-Cron": "@hourly", "Ax-Time-Zone": "Mars/Olympus"}, ["Ax-Time-Zone", "Mars/Olympus", "IANA"]),
    *(({"Ax-Cron": "@hourly", "Ax-Time-Zone": zone}, ["Ax-Time-Zone", zone, "IANA"]) for zone in (
        "Local", "local", "Factory", "localtime", "posixrules", "posix/Europe/Zurich", "right/UTC", "/etc/localtime")),
    ({"Ax-Cron": "@hourly", "Ax-Time-Zone": "a b"}, ["Ax-Time-Zone", "IANA"]),
    ({"Ax-Cron": "@every 10m", "Ax-Time-Zone": "UTC"}, ["Ax-Time-Zone", "@every 10m"]),
    ({"Ax-Cron": "@hourly", "Ax-Delay": "5s"}, ["Ax-Cron", "Ax-Delay", "only one"]),
    ({"Ax-Cron": "@hourly", "Ax-At": "2030-01-31T09:00:00Z"}, ["Ax-Cron", "Ax-At", "only one"]),
    ({"Ax-Cron": "@hourly", "Ax-Expires": "5s"}, ["Ax-Cron", "Ax-Expires", "only one"]),
    ({"Ax-Cron": "@hourly", "Ax-Overlap": "both"}, ["Ax-Overlap", "both", "skip or queue"]),
    ({"Ax-Overlap": "skip"}, ["Ax-Overlap", "without Ax-Cron"]),
    ({"Ax-Time-Zone": "UTC"}, ["Ax-Time-Zone", "without Ax-Cron"]),
    ({"Ax-Timeout": "0s"}, ["Ax-Timeout", "0s", "1s to 24h"]),
]


async def refused(ax, headers, words, key="k"):
    try:
        reply = await ax.submit("x", key, headers=headers)
    except Refused as refused:
        assert refused.code == 400 and refused.err_code == 10003, (headers, refused.error)
        for word in words:
            assert word in str(refused), f"{headers}: no {word!r} in {refused}"
    else:
        raise AssertionError(f"{headers}: accepted as {reply}")


async def test(ax):
    await ax.pool("email")
    for headers, words in BAD:
        await refused(ax, headers, words)
    await refused(ax, {"Ax-Cron": "@hourly"}, ["Ax-Cron", "needs a key"], key=None)
    await refused(ax, {"Ax-Cron": "@hourly"}, ["481", "480"], key="k" * 481)

    msg = await ax.nc.request("ax.submit.high.email", wire.task(body="x", key="k", cron="9 * * 1-5"),
                              headers={"Ax-Schema": "ax.v1.Task"}, timeout=5)
    assert SIX in json.loads(msg.data)["error"]["description"], msg.data
    assert await ax.unfinished() == 0

    # A key that names another task waiting in AX_LATER: replacing that would lose it.
    await ax.submit("x", "waits", headers={"Ax-Delay": "1h"})
    await refused(ax, {"Ax-Cron": "@hourly"}, ["Ax-Cron", "not recurring"], key="waits")
    assert await ax.messages("AX_LATER") == 1
    # Nobody to tell: a dead letter that says why.
    await ax.nc.publish("ax.submit.high.email", b"x", headers={"Ax-Cron": "* * * *", "Nats-Msg-Id": "dead"})
    reply = await ax.submit("x", "good", headers={"Ax-Cron": "0 30 9 * * 1-5", "Ax-Time-Zone": "Europe/Zurich"})
    assert reply["state"] == "later" and reply["stream"] == "AX_LATER" and reply["duplicate"] is False, reply
    assert await ax.messages("AX_DEAD") == 1
    [subject] = await ax.subjects("AX_DEAD")
    headers, _, _ = await ax.last("AX_DEAD", subject)
    assert SIX in headers["Ax-Reason"] and headers["Ax-Key"] == "dead", headers


run(test)
