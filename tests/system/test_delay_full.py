# The soft bound of AX_LATER (ax.max_later in its metadata): a busy answer for delayed tasks, immediate ones run, a
# raised bound takes effect at once, and there is room again when tasks have left.
# ctest: timeout=120
import re
import time

from harness import SLOW, Refused, eventually, run

MAX = 50


async def delayed(ax, key, delay="1h"):
    """The answer, or the refusal."""
    try:
        return await ax.submit("x", key, pool="spare", headers={"Ax-Delay": delay})
    except Refused as refused:
        return refused


async def set_max(ax, value):
    config = (await ax.stream("AX_LATER"))["config"]
    await ax.edit_stream("AX_LATER", metadata={**config["metadata"], "ax.max_later": str(value), "ax.pool_share": "1"})


async def test(ax):
    await ax.pool("email", {"backoff": "1s"})
    await ax.pool("spare")
    assert (await ax.stream("AX_LATER"))["config"]["metadata"]["ax.max_later"] == "1000000"
    failed = []

    async def handler(task):
        if task.key == "fails once" and not failed:
            failed.append(task.key)
            return "nak"

    worker = await ax.worker(handler=handler)
    await set_max(ax, MAX)
    sent = 0

    async def is_full():
        nonlocal sent
        answer = await delayed(ax, f"filler-{sent}", "30m")
        if isinstance(answer, Refused):
            return answer
        sent += 1
    refused = await eventually(is_full, 20, "AX_LATER is full")
    stored = await ax.messages("AX_LATER")
    print(f"{refused} after {stored} tasks")
    assert stored >= MAX and stored == sent, (stored, sent)
    assert (refused.code, refused.err_code) == (503, 10077), refused.error
    assert re.fullmatch(rf"AX_LATER is full \({MAX} tasks\), retry in \d+ms", str(refused)), str(refused)
    msg = await ax.nc.request("ax.submit.low.spare", b"x", headers={"Ax-Delay": "5m"}, timeout=5 * SLOW)
    assert re.fullmatch(r"\d+ms", msg.headers["Ax-Retry-After"]), msg.headers

    # A waiting key is still a duplicate, immediate tasks run, and a retry has its place: it is no new task.
    known = await delayed(ax, "filler-0")
    assert not isinstance(known, Refused) or known.code == 503, known
    for i in range(20):
        assert (await ax.submit("x", f"now-{i}"))["state"] == "queued"
    await ax.submit("x", "fails once")
    await eventually(lambda: len(worker.starts) == 22, 15, "20 immediate tasks, and one twice")

    # Raised by an operator, without a restart; kept exactly, since there is one ingress.
    await set_max(ax, stored + 10)

    async def is_taken():
        return not isinstance(await delayed(ax, "raised-0", "2s"), Refused)
    await eventually(is_taken, 15, "the raised bound takes effect", every=0.1)
    for i in range(1, 10):
        answer = await delayed(ax, f"raised-{i}", f"{2 * SLOW:g}s")
        assert not isinstance(answer, Refused), (i, str(answer))
    answer = await delayed(ax, "over")
    assert isinstance(answer, Refused), f"one over the bound was taken: {answer}"

    # Ten leave when their time has come: room for as many.
    spare = await ax.worker("spare")
    await eventually(lambda: len(spare.starts) == 10, 15 + 2 * SLOW, "the ten run")

    async def room():
        return not isinstance(await delayed(ax, "room", "5m"), Refused)
    started = time.monotonic()
    await eventually(room, 15, "there is room again", every=0.1)
    print(f"room was noticed after {time.monotonic() - started:.1f} s")


run(test)
