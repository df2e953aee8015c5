"""The tables of moves in docs/ are those of the code, as print_moves prints them.

Between "<!-- moves:NAME -->" and "<!-- /moves -->" stands table NAME. With --write they are written there.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRINT = Path(os.environ["AX_BIN_DIR"]) / "print_moves"
BLOCK = re.compile(r"(<!-- moves:(\w+) -->\n)(.*?)(<!-- /moves -->)", re.S)


def printed(*name):
    return subprocess.run([PRINT, *name], capture_output=True, text=True, check=True).stdout


def main():
    wanted, failures = set(printed().split()), []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text()
        names = [m[2] for m in BLOCK.finditer(text)]
        unknown = set(names) - wanted
        assert not unknown, f"{page}: no table is called {unknown}"
        fresh = BLOCK.sub(lambda m: m[1] + printed(m[2]) + m[4], text)
        wanted -= set(names)
        if fresh != text and "--write" in sys.argv:
            page.write_text(fresh)
        elif fresh != text:
            failures.append(f"{page.relative_to(ROOT)}: a table of moves is not the code's")
    failures += [f"no page has the table {name}" for name in wanted]
    if failures:
        sys.exit("\n".join(failures) + "\nWrite them with: AX_BIN_DIR=<build>/bin tests/moves/docs.py --write")


main()
