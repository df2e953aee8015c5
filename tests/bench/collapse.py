"""A database that collapses over 20 queries at a time, behind 50 workers: a table, and a plot beside it.

    make collapse                                                             # build/collapse.svg
    AX_BIN_DIR=$PWD/build/bin scripts/run-test tests/bench/collapse.py --svg collapse.svg --factor 2

--factor: how much longer each part is measured than in `make test`. Nothing else should run on the machine.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))

from collapse import Run  # noqa: E402
from harness import run  # noqa: E402

options = argparse.ArgumentParser()
options.add_argument("--svg", default="collapse.svg")
options.add_argument("--factor", type=float, default=2.0)
options = options.parse_args()
svg = os.path.abspath(options.svg)


async def measure(ax):
    r = Run(ax, options.factor)
    try:
        await r.go()
    finally:
        if r.phases:
            with open(svg, "w", encoding="utf-8") as f:
                f.write(r.svg())
    print(r.table())
    print(f"plot: {svg}")
    r.check()


run(measure, 180 + 120 * options.factor)
