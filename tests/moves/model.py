"""Each step of the model (tests/model/task.inc) that a dispatcher takes is a move of the code's table.

model.txt says which; a step without a line there, and a line that names no step or no move, is a failure.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRINT = Path(os.environ["AX_BIN_DIR"]) / "print_moves"


def moves():
    """(state, event, next) of each row, its states taken apart."""
    out = subprocess.run([PRINT, "attempt"], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 6 and cells[0] != "state" and not cells[0].startswith("-"):
            for state in cells[0].split(", "):
                yield state, cells[1], state if cells[3] == "same" else cells[3]


def main():
    known, failures, mapped = set(moves()), [], set()
    assert known, "print_moves shows no move of an attempt"
    steps = set(re.findall(r'check\("([^"\\]*)', (ROOT / "tests/model/task.inc").read_text()))
    for number, line in enumerate((ROOT / "tests/moves/model.txt").read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        step, _, what = line.partition(" = ")
        mapped.add(step)
        if step not in steps:
            failures.append(f"model.txt:{number}: task.inc has no step '{step}'")
        for move in [] if what.startswith("(") else what.split(" ; "):
            if re.fullmatch(r"(\w+): (.*) -> (\w+)", move).groups() not in known:
                failures.append(f"model.txt:{number}: an attempt has no move '{move}'")
    failures += [f"model.txt: step '{step}' of task.inc is not there" for step in sorted(steps - mapped)]
    if failures:
        sys.exit("\n".join(failures))


main()
