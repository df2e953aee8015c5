# Order of steps under a microscope: ax-ingress, ax-dispatch and ax die as by kill -9 at every one of their fault points
# (before and after each durable step, src/base/fault.h) and are started again. Then every accepted task has ended, each
# effect was applied once, no attempt whose worker lived was started twice, and nothing is left in any stream.
# The points are listed by the programs: one that has no scenario, or that its scenario does not reach, fails the test.
# AX_FAULT_ONLY=name,… runs some; AX_FAULT_RIGS is how many servers work side by side.
# ctest: faults
# ctest: serial
# ctest: timeout=240
import os
import time

import fault_dispatch
import fault_ingress
from fault_rig import Rigs, fault_points, rigs_wanted, seconds_since
from harness import run

SCENARIOS = {"ax-ingress": fault_ingress.SCENARIOS, "ax-dispatch": fault_dispatch.SCENARIOS, "ax": fault_dispatch.COMMANDS}


def all_points():
    """[(point, scenario)], dispatch's first: they take longest."""
    work = []
    for program, scenarios in SCENARIOS.items():
        points = fault_points(program)
        missing, unknown = set(points) - set(scenarios), set(scenarios) - set(points)
        assert not missing, f"{program}: no scenario leads to {sorted(missing)}"
        assert not unknown, f"{program} has no fault point {sorted(unknown)}"
        work += [(p, scenarios[p]) for p in points]
    only = os.environ.get("AX_FAULT_ONLY")
    return [w for w in work if not only or w[0] in only.split(",")]


async def test(ax):
    work = all_points()
    starts = kills = 0
    rigs = set()

    async def one(rig, item):
        point, scenario = item
        began = time.monotonic()
        try:
            await scenario(rig, point)
            await rig.settled()
            await rig.rest()
        except Exception:
            print(f"{point} … FAILED after {seconds_since(began)}, in {rig.ax.directory}", flush=True)
            raise
        print(f"{point} … ok ({seconds_since(began)})", flush=True)
        rigs.add(rig)

    began = time.monotonic()
    await Rigs(min(rigs_wanted(), len(work))).run(work, one)
    kills = sum(rig.killed for rig in rigs)
    starts = sum(len(s) for rig in rigs for s in rig.ledger.starts.values())
    effects = sum(len(rig.ledger.effects) for rig in rigs)
    refused = sum(rig.ledger.refused for rig in rigs)
    print(f"{len(work)} fault points, {kills} kills, {starts} starts, {effects} effects, {refused} refused by the sink, "
          f"in {seconds_since(began)}")
    assert kills >= len(work)


run(test, seconds=200, ingress=0, dispatch=0)
