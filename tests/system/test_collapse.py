# A database that collapses over 20 queries at a time, behind 50 workers: a fixed rate brings it down, an adaptive one
# keeps it at 90% of its best and its p99 within 3 times its best, follows a dip and is back within 30 s. All starts
# stay within the pool's bucket. `make collapse` is the long form, with a plot.
# ctest: serial
# ctest: timeout=500
from collapse import RATE, Run
from harness import run


async def measure(ax):
    for last in (False, False, True):
        r = Run(ax)
        try:
            await r.go()
            print(r.table())
            r.check()
            return r
        except AssertionError as error:
            if last or not r.disturbed():
                raise
            print(f"{error}, and the machine was busy with other things: once more", flush=True)
            await r.leave()


async def test(ax):
    r = await measure(ax)
    over = r.starts_over_bucket()
    print(f"worst window of starts: {over:+.1f} over the bucket")
    assert over <= 0.15 * RATE, f"a window had {over:.1f} starts more than burst + rate·t + 1"  # 0.15 s: when the server took them
    lowered, raised = (ax.dispatch.metric(f"ax_rate_{what}_total") for what in ("lowered", "raised"))
    assert lowered and raised, "no decision was counted"
    told = [line for line in ax.dispatch.log().splitlines() if 'msg="rate ' in line]
    print("\n".join(told))
    assert any('msg="rate lowered"' in line and "reason=run_time" in line for line in told), told
    assert len(told) < (lowered + raised) / 2, "the log has a line for every step"


run(test, 480)
