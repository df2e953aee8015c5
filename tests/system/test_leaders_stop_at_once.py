# A dispatcher that stops right after it has got its share hands every pool over at once: the one that gave them up takes
# them back, although it has just stood back for others.
# ctest: sanitize=address
from harness import LEASE_TTL, eventually, run
from leaders import led_by, now, shares

POOLS = {f"pool-{i}" for i in range(20)}


async def test(ax):
    for pool in sorted(POOLS):
        await ax.put_pool(pool, {})
    await shares(ax, POOLS, [20], 30)
    second = ax.daemon("ax-dispatch", 1)
    ax.dispatches.append(second)
    await shares(ax, POOLS, [10, 10], 30)
    assert second.stop() == 0
    begin = now()
    await eventually(lambda: led_by(ax.dispatch) >= POOLS or None, 3 * LEASE_TTL, "one leads all")
    assert now() - begin < LEASE_TTL / 2, f"after {now() - begin:.1f} s of {LEASE_TTL} s"


run(test)
