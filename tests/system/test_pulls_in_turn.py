# The server deals to several open pulls of the dispatcher in turn and ends them with a part of what they asked for:
# afterwards the dispatcher must still ask for more.
import asyncio
import time

from harness import eventually, run


async def test(ax):
    await ax.pool("email")
    got = asyncio.Queue()

    async def on_message(msg):
        if msg.reply:  # else the end of a pull
            await ax.nc.publish(msg.reply, b"")
            got.put_nowait(msg)

    inbox = ax.nc.new_inbox()
    await ax.nc.subscribe(inbox, cb=on_message)

    async def pull(batch, seconds):
        body = '{"batch":%d,"expires":%d}' % (batch, seconds * 10**9)
        await ax.nc.publish("$JS.API.CONSUMER.MSG.NEXT.AX_WORK.email", body.encode(), reply=inbox)

    async def waiting(number):
        async def check():
            return (await ax.consumer("AX_HIGH", "email"))["num_waiting"] == number
        await eventually(check, 9, f"{number} pulls of the dispatcher")

    await waiting(1)  # for 1
    await pull(4, 7)
    await waiting(2)  # and for 3
    await pull(8, 7)
    await waiting(3)  # and for 8
    asked = time.monotonic()
    for i in range(4):  # dealt to the first, second, third, and second
        await ax.submit("x", f"key-{i}")
    for _ in range(4):
        await asyncio.wait_for(got.get(), 10)
    await ax.settled(4, 20)
    await asyncio.sleep(max(0, asked + 13 - time.monotonic()))  # the pulls are over, those of the workers before
    await pull(1, 30)
    await ax.submit("x", "one more")
    await asyncio.wait_for(got.get(), 15)
    await ax.settled(5, 20)


run(test, 90)
