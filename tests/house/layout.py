"""How the C of this tree is laid out: clang-format (.clang-format) and the rules it does not know.

    layout.py --write      lays the tree out (scripts/format, make format)

test_format.py checks the same rules.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from source import ROOT, Source, sources

FOLDERS = ("src", "tests", "examples", "scripts")
COLUMNS = 100

CLANG_FORMAT_VERSION = re.search(r"clang-format==([\d.]+)",
                                 (ROOT / "scripts/versions.sh").read_text()).group(1)
FOR_EACH = [name.strip() for name in
            re.search(r"^ForEachMacros: \[(.*)\]", (ROOT / ".clang-format").read_text(), re.M)
            .group(1).split(",")]
CONTROL = re.compile(r"\b(?:(else)\b(?!\s+if\b)|(?:if|for|while|%s)\b)" % "|".join(FOR_EACH))
COMPOUND = re.compile(r"\b(?:(if)|(?:for|while|switch|%s))\b" % "|".join(FOR_EACH))
SIZEOF_BARE = re.compile(r"\bsizeof\b(?!\s*\()")


def clang_format():
    """The pinned formatter, from the cache of scripts/setup or from PATH; None: not here."""
    beside = Path(sys.executable).parent / "clang-format"
    for program in (beside, shutil.which("clang-format")):
        if program and os.access(program, os.X_OK):
            said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if f"version {CLANG_FORMAT_VERSION}" in said:
                return str(program)
    return None


# ---- the rule for braces: a body has them unless it is one line on its own

def after_blank(code, at):
    return re.compile(r"\S|$").search(code, at).start()


def after_pair(code, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for m in re.compile(r"[(){}\[\]]").finditer(code, at):
        depth += 1 if m.group() in "({[" else -1
        if depth == 0:
            return m.end()
    return len(code)


def after_statement(code, at):
    """Behind the statement that begins at or after `at`."""
    at = after_blank(code, at)
    if code[at:at + 1] == "{":
        return after_pair(code, at)
    compound = COMPOUND.match(code, at)
    if compound:
        end = after_statement(code, after_pair(code, code.index("(", at)))
        following = after_blank(code, end)
        if compound.group(1) and re.match(r"else\b", code[following:]):
            return after_statement(code, following + len("else"))
        return end
    if re.match(r"do\b", code[at:]):
        return code.index(";", after_statement(code, at + len("do"))) + 1
    while at < len(code) and code[at] != ";":
        at = after_pair(code, at) if code[at] in "({[" else at + 1
    return at + 1


def missing_braces(source):
    """[(end of the head, end of the body)]: offsets where a brace is missing."""
    code = source.code
    for m in CONTROL.finditer(code):
        head = m.end()
        if not m.group(1):
            if code[after_blank(code, head):][:1] != "(":
                continue
            head = after_pair(code, code.index("(", head))
        body = after_blank(code, head)
        if code[body:body + 1] in ("{", ";"):  # with braces; the while of a do
            continue
        end = after_statement(code, body)
        first = source.line_of(head)
        if source.line_of(end - 1) != first + 1 or source.line_of(body) != first + 1:
            yield head, end


def with_braces(source):
    """The text with the braces that are missing; clang-format puts them in their places."""
    inserts = []
    for head, end in missing_braces(source):
        inserts.append((head, " {"))
        inserts.append((source.text.find("\n", end), "\n}"))
    text = source.text
    for at, what in sorted(inserts, reverse=True):
        text = text[:at] + what + text[at:]
    return text


# ---- all of it

def violations(source):
    for head, _ in missing_braces(source):
        yield f"{source}:{source.line_of(head)}: a body of more than one line without braces"
    for m in SIZEOF_BARE.finditer(source.without_comments):
        yield f"{source}:{source.line_of(m.start())}: sizeof without parentheses"
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS:
            yield f"{source}:{number}: {len(line)} characters, at most {COLUMNS}"


def unformatted(program, paths):
    """[file:line: …] of what clang-format would change."""
    run = subprocess.run([program, "--dry-run", "-Werror", "--style=file", *paths],
                         cwd=ROOT, capture_output=True, text=True)
    lines = re.findall(r"^(\S+?:\d+):\d+: error: .*", run.stderr, re.M)
    if run.returncode != 0 and not lines:
        sys.exit(run.stderr)
    return [f"{line}: clang-format would change it" for line in dict.fromkeys(lines)]


def write(program):
    for source in sources(*FOLDERS):
        text = with_braces(source)
        if text != source.text:
            (ROOT / source.path).write_text(text, encoding="utf-8")
    paths = [str(source) for source in sources(*FOLDERS)]
    subprocess.run([program, "-i", "--style=file", *paths], cwd=ROOT, check=True)


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    formatter = clang_format()
    if not formatter:
        sys.exit(f"no clang-format {CLANG_FORMAT_VERSION}: run scripts/setup test")
    # Twice: a line that was broken may have made a body longer than one.
    write(formatter)
    write(formatter)
