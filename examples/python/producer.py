"""Submits one task: producer.py POOL KEY BODY. A plain JetStream publish, nothing of AX imported."""
import asyncio
import os
import re
import sys

import nats
from nats.js.errors import APIError


async def main(pool, key, body):
    nc = await nats.connect(os.environ.get("NATS_URL", "nats://127.0.0.1:4222"))
    js = nc.jetstream()
    while True:
        try:
            # Nats-Msg-Id is the idempotency key: publishing it again, today or in six days, starts
            # nothing new.
            ack = await js.publish(f"ax.submit.high.{pool}", body.encode(),
                                   headers={"Nats-Msg-Id": key})
            duplicate = str(bool(ack.duplicate)).lower()
            print(f"stream={ack.stream} seq={ack.seq} duplicate={duplicate}", flush=True)
            break
        except APIError as error:
            print(error, flush=True)
            hint = re.search(r"retry in (\d+)ms", error.description or "")
            if error.code != 503 or not hint:
                raise  # 400: the task itself is wrong, sending it again cannot help
            await asyncio.sleep(int(hint[1]) / 1000)
        except nats.errors.TimeoutError:
            pass  # no word: it may be stored or not. The same key again is safe either way
    await nc.close()


asyncio.run(main(*sys.argv[1:4]))
