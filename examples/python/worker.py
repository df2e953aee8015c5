"""Works a pool: worker.py POOL [DATABASE]. A plain pull consumer, nothing of AX is imported."""
import asyncio
import os
import sqlite3
import sys

import nats


def work(db, task, fence, body):
    if body == "fail":
        raise RuntimeError("the mail server is away")
    # One transaction. An older attempt of the same task (smaller fence) can no longer write.
    with db:
        db.execute("INSERT INTO sent VALUES (?, ?, ?) ON CONFLICT (task) DO UPDATE "
                   "SET fence = excluded.fence, body = excluded.body WHERE fence < excluded.fence",
                   (task, fence, body))


async def main(pool, path=":memory:"):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE IF NOT EXISTS sent (task TEXT PRIMARY KEY, fence INTEGER, body TEXT)")
    nc = await nats.connect(os.environ.get("NATS_URL", "nats://127.0.0.1:4222"))
    sub = await nc.jetstream().pull_subscribe_bind(pool, stream="AX_WORK")
    while True:
        try:
            [msg] = await sub.fetch(1, timeout=5)
        except nats.errors.TimeoutError:
            continue  # nothing to do for 5 s
        task, fence, body = msg.headers["Ax-Task"], msg.metadata.sequence.stream, msg.data.decode()
        if not body:
            # Poison: no retry, straight to the dead letters.
            await nc.publish(msg.reply, b"+TERM empty body")
            continue
        try:
            work(db, task, fence, body)
        except Exception as error:
            print(f"failed task={task} fence={fence}: {error}", flush=True)
            await msg.nak()  # tried again after the backoff
        else:
            # After the commit: never before it, never in a `finally`, or a crash loses the task.
            await msg.ack()
            print(f"done task={task} fence={fence} body={body}", flush=True)


asyncio.run(main(*sys.argv[1:]))
