# A nats.go worker with its default Consume() (asks for 500 at once) doing slow tasks beside a fast one: the un-acked
# tasks stay within batch × pulls, no lease of a prefetched task runs out, the fast one does most of the work, and a
# high task starts after at most one batch of the slow one. The server deals hand-offs in turn to the pulls that wait,
# so the fast worker has eight.
# ctest: serial
# ctest: timeout=120
import asyncio
import os

from harness import eventually, run
from tools import go_build

BATCH, SLOW_MS, FAST_MS, FAST_SLOTS, COUNT = 10, 100, 10, 8, 1000


def starts(process):
    """[(key, fence, attempt, ns)] that a worker has printed."""
    out = []
    for line in process.log().splitlines(keepends=True):
        if line.startswith("start ") and line.endswith("\n"):
            _, key, fence, attempt, ns = line.split()
            out.append((key, int(fence), int(attempt), int(ns)))
    return out


async def test(ax):
    greedy = await asyncio.to_thread(go_build, "tests/system/clients", "./worker", os.path.join(ax.directory, "client"))
    await ax.pool("email", {"batch": BATCH}, ack_wait=5)
    await asyncio.gather(*(ax.submit("x", f"low-{i}", "low") for i in range(COUNT)))
    slow = ax.spawn("slow", [greedy, "email", "consume", "1", str(SLOW_MS)])
    await eventually(lambda: len(starts(slow)) >= 3, 20, "the greedy worker works")
    unacked = []
    for _ in range(20):
        unacked.append((await ax.consumer("AX_WORK", "email"))["num_ack_pending"])
        await asyncio.sleep(0.05)
    # Consume() tops its 500 up at half way: at most two pulls of its wait at a time.
    assert max(unacked) <= 2 * BATCH, f"{max(unacked)} tasks un-acked with the greedy worker alone"

    fast = ax.spawn("fast", [greedy, "email", "fetch", str(FAST_SLOTS), str(FAST_MS)])
    await eventually(lambda: len(starts(fast)) > 20, 20, "the fast worker works")
    latencies = []
    peak = 0
    for n in range(8):
        before = asyncio.get_running_loop().time()
        key = f"high-{n}"
        await ax.submit("x", key, "high")
        await eventually(lambda k=key: any(s[0] == k for s in starts(fast) + starts(slow)), 20, f"{key} started", 0.005)
        latencies.append(asyncio.get_running_loop().time() - before)
        info = await ax.consumer("AX_WORK", "email")
        peak = max(peak, info["num_ack_pending"])
        await asyncio.sleep(0.3)
    print(f"high tasks started after {[round(x * 1000) for x in latencies]} ms, at most {peak} un-acked")
    assert peak <= BATCH * (2 + FAST_SLOTS), peak
    assert max(latencies) <= BATCH * SLOW_MS / 1000 + 0.5, f"a high task waited {max(latencies):.2f} s"
    await ax.settled(COUNT + 8, 60)
    done_slow, done_fast = starts(slow), starts(fast)
    everything = done_slow + done_fast
    print(f"slow {len(done_slow)}, fast {len(done_fast)}")
    assert all(attempt == 1 for _, _, attempt, _ in everything), "a prefetched task lapsed"
    assert len(everything) == len({k for k, *_ in everything}) == COUNT + 8
    assert len(done_fast) > 0.6 * len(everything), f"the fast worker did {len(done_fast)} of {len(everything)}"


run(test)
