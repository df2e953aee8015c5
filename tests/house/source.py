"""What the house tests read: the C files of this tree, cut into functions, declarations and structs.

The scanner knows as much C as the tree needs and no more: comments, literals and preprocessor lines
are blanked, character for character, so that offsets and line numbers stay, and then brackets are
counted. self_check() in each test shows that the test can fail.
"""
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIP = 77  # ctest: the test cannot run here

BLANKED = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'""", re.S | re.X)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)", re.S)
FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\((?!\s*\*)")
STRUCT = re.compile(r"\b(?:struct|union)\s+(\w+)?\s*\{")
NOT_A_FUNCTION = re.compile(r"\s*(?:typedef|_Static_assert|static_assert)\b")


@dataclass(frozen=True)
class Function:
    name: str
    line: int  # of the signature
    end: int  # of the closing brace, of the semicolon of a declaration
    static: bool

    @property
    def lines(self):
        return self.end - self.line + 1


@dataclass(frozen=True)
class Struct:
    name: str  # "" for one without a tag
    line: int
    fields: int


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def blank_literal(match):
    """Keeps the quotes, so that what stood there is still an expression."""
    text = match.group()
    if text[0] == "/":
        return blank(match)
    return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]


class Source:
    def __init__(self, path, text=None):
        self.path = Path(path)  # within ROOT
        self.text = (ROOT / path).read_text(encoding="utf-8") if text is None else text

    def __str__(self):
        return str(self.path)

    @property
    def room(self):
        """"dispatch/rate" of src/dispatch/rate/pace.c, "" outside src."""
        parts = self.path.parts
        return "/".join(parts[1:-1]) if parts[0] == "src" else ""

    @cached_property
    def lines(self):
        return self.text.split("\n")

    @cached_property
    def without_comments(self):
        """Comments and what literals hold are spaces."""
        return BLANKED.sub(blank_literal, self.text)

    @cached_property
    def code(self):
        """Preprocessor lines are spaces, too."""
        return DIRECTIVE.sub(blank, self.without_comments)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    @cached_property
    def includes(self):
        """[(line, path)] of the files included from this tree."""
        return [(self.line_of(m.start()), m.group(2)) for m in INCLUDE.finditer(self.text)
                if m.group(1) == '"']

    @cached_property
    def _top_level(self):
        """[(text, offset, end, has_body)]: statements and definitions at the outermost level."""
        found, depth, start = [], 0, 0
        for m in re.finditer(r"[{};]", self.code):
            at = m.start()
            if m.group() == "{":
                if depth == 0:
                    head = ATTRIBUTE.sub("", self.code[start:at])
                    body_of = head.rstrip().endswith(")") and "=" not in head
                depth += 1
            elif m.group() == "}":
                depth -= 1
                if depth == 0 and body_of:
                    found.append((head, self._first(start), at, True))
                    start = at + 1
            elif depth == 0:
                found.append((ATTRIBUTE.sub("", self.code[start:at]), self._first(start), at, False))
                start = at + 1
        return found

    def _first(self, offset):
        return re.compile(r"\S|$").search(self.code, offset).start()

    def _named(self, has_body):
        for head, start, end, body in self._top_level:
            if body != has_body or NOT_A_FUNCTION.match(head) or not body and re.search("[={]", head):
                continue
            name = FUNCTION.search(head)
            if name and head[:name.start()].strip():  # a type before it; else a macro is called
                yield Function(name.group(1), self.line_of(start), self.line_of(end),
                               re.search(r"\bstatic\b", head[:name.start()]) is not None)

    @cached_property
    def functions(self):
        """The functions defined here."""
        return list(self._named(True))

    @cached_property
    def declarations(self):
        """The functions declared here and defined elsewhere."""
        return list(self._named(False))

    @cached_property
    def structs(self):
        """Every struct and union with a body, also those within others."""
        return [Struct(m.group(1) or "", self.line_of(m.start()), count_fields(self._body(m.end())))
                for m in STRUCT.finditer(self.code)]

    def _body(self, start):
        """What stands between the brace before start and the one that closes it."""
        depth = 1
        for m in re.compile(r"[{}]").finditer(self.code, start):
            depth += 1 if m.group() == "{" else -1
            if depth == 0:
                return self.code[start:m.start()]
        raise ValueError(f"{self.path}: a brace without its end")


def count_fields(body):
    """A struct within counts as the fields it declares; one without a name as its own fields."""
    count, depth, start = 0, 0, 0
    for at, c in enumerate(body):
        if c in "{([":
            if depth == 0 and c == "{":
                inner = at + 1
            depth += 1
        elif c in "})]":
            depth -= 1
            if depth == 0 and c == "}":
                if re.match(r"\s*;", body[at + 1:]) and "enum" not in body[start:inner]:
                    count += count_fields(body[inner:at]) - 1
        elif c == "," and depth == 0:
            count += 1
        elif c == ";" and depth == 0:
            count += 1
            start = at + 1
    return count


def sources(*folders, ending=(".c", ".h")):
    """The C files below the folders, in order."""
    return [Source(path.relative_to(ROOT)) for folder in folders
            for path in sorted((ROOT / folder).rglob("*")) if path.suffix in ending]


def self_check(expected, found):
    """Whether a test still sees what it is for: in code made to be wrong it finds `expected`."""
    if found != expected:
        sys.exit(f"self-check: expected {expected}, found {found}")


def finish(failures, advice):
    """Prints the failures, one a line, and ends the test."""
    for failure in failures:
        print(failure)
    if failures:
        sys.exit(f"{len(failures)} found. {advice}")
