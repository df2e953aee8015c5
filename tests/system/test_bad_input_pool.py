# Malformed pool settings in the bucket: the old ones stay, one line in the log for each, and good ones work at once.
# ctest: timeout=120
import asyncio

from harness import SLOW, eventually, run


def refusals(ax):
    return [line for line in ax.dispatch.log().splitlines() if "settings refused" in line]


async def test(ax):
    await ax.pool("email", {"rate": 5, "burst": 1})
    await asyncio.gather(*(ax.submit("x", f"k{i}") for i in range(400)))
    worker = await ax.worker(pulls=8)
    await eventually(lambda: len(worker.starts) >= 3, 10)
    bad = [b'{"rate":', b'{"rate":"fast"}', b'{"rate":-1}', b'{"rte":100}', b"[]", b"\xff\xfe", b'{"batch":0}',
           b'{"rate":1e99}', b'"rate"', b"null"]
    for text in bad:
        before = len(refusals(ax))
        await ax.put_pool("email", text)
        await eventually(lambda n=before: len(refusals(ax)) > n, 5, f"a line in the log about {text!r}")
    lines = refusals(ax)
    assert len(lines) == len(bad), "\n".join(lines)
    assert all("email" in line for line in lines), "\n".join(lines)
    starts = len(worker.starts)
    await asyncio.sleep(2)  # this measures a rate
    assert 8 <= len(worker.starts) - starts <= 12, f"{len(worker.starts) - starts} starts in 2 s at 5/s"
    # Names that are no pools.
    for key in ("bad.name", "p" * 33, "sp%ce"):
        await ax.js.publish(f"$KV.AX_POOLS.{key}", b"{}")
    await ax.put_pool("email", {})
    await ax.settled(400, 10 * SLOW)
    names = [c["name"] for c in (await ax.api("CONSUMER.LIST.AX_WORK", {"offset": 0}))["consumers"]]
    assert sorted(names) == sorted({"email", *[n for n in names if n == "default"]}), names


run(test)
