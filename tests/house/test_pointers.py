"""What a comment or a page names exists: files ("done/record.h"), functions ("ending.c:ending_drop").

So whatever is moved or renamed is found by those who read about it.
"""
import os
import re
import subprocess

from source import ROOT, finish, self_check

READ = re.compile(r"\.(c|h|py|sh|pml|inc|proto|cmake|yml|md)$|(^|/)(Makefile|CMakeLists\.txt)$|"
                  r"^scripts/[a-z-]+$")
# Folders that a path may begin at: the root, src, tests, or the folder of the file that names it.
BEGINS = ("", "src", "tests")
FIRST = ("docs|src|tests|scripts|streams|schemas|deploy|examples|base|bus|task|done|stats|ingress|"
         "dispatch|cli|unit|fuzz|system|chaos|model|house|bench|soak")
ENDING = "md|c|h|py|pml|inc|json|proto|cmake|service|sh|yml"
PATH = re.compile(r"(?<![\w/.$<>*-])((?:%s)/[\w./-]*\w\.(?:%s))\b" % (FIRST, ENDING))
BARE = re.compile(r"(?<![\w/.*<-])([a-z]\w+\.(?:c|h|pml))\b")
FUNCTION = re.compile(r"([a-z]\w+\.[ch]):([A-Za-z_]\w+)")
INCLUDE = re.compile(r"#\s*include\b|has_header|find_path")

# Files of others that are named here.
FOREIGN = {"nats.c", "conn.c", "pan.c"}


def violations(name, text, files):
    """[(line, what)]; files: {path: its text, "" for what is not C} of the tree."""
    texts = {}
    for file, content in files.items():
        texts[os.path.basename(file)] = texts.get(os.path.basename(file), "") + content
    for number, line in enumerate(text.split("\n"), 1):
        if INCLUDE.search(line):
            continue
        for path in PATH.findall(line):
            places = [os.path.join(b, path) for b in BEGINS]
            places.append(os.path.normpath(os.path.join(os.path.dirname(name), path)))
            if not files.keys() & set(places):
                yield number, path
        for bare in BARE.findall(line):
            if bare not in texts and bare not in FOREIGN:
                yield number, bare
        for file, function in FUNCTION.findall(line):
            if texts.get(file) and not re.search(rf"\b{function}\b", texts[file]):
                yield number, f"{file}:{function}"


def check_self():
    files = {"src/base/log.h": "void log_line(void);", "docs/time.md": "", "tests/fuzz/fuzz_ack.c": ""}
    text = """#include "gone.h"
/* base/log.h, src/base/log.h and docs/time.md; nats.c, fuzz_ack.c, log.h:log_line */
/* base/gone.h, docs/gone.md: see gone.c, base/log.h:log_gone */
"""
    self_check([(3, "base/gone.h"), (3, "docs/gone.md"), (3, "gone.c"), (3, "log.h:log_gone")],
               list(violations("src/base/a.c", text, files)))


def tree():
    """{path: text} of the files of the tree; the text of those that are read."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:  # a copy without its history
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    return {name: (ROOT / name).read_text(encoding="utf-8") if READ.search(name) else ""
            for name in sorted(names) if (ROOT / name).is_file()}


def main():
    files = tree()
    failures = []
    for name, text in files.items():
        # The tests of the house name files that are made up.
        if text and not name.startswith("tests/house/"):
            failures += [f"{name}:{line}: names {what}, which does not exist"
                         for line, what in violations(name, text, files)]
    finish(failures, "Name it as it is called now.")


check_self()
main()
