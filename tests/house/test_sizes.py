"""What a person can hold in mind: how long functions and files are, how wide structs and folders."""
from collections import Counter
from pathlib import Path

from source import Source, finish, self_check, sources

FUNCTION_LINES = 60
FILE_LINES = 500
STRUCT_FIELDS = 24
FOLDER_FILES = 30
STRUCT_ROOMS = {"ingress", "dispatch"}

# (file, name): why it may be larger.
EXCEPTIONS = {}


def violations(source):
    """[(line, name, what)]"""
    lines = len(source.text.splitlines())
    if lines > FILE_LINES:
        yield 1, source.path.name, f"{lines} lines, at most {FILE_LINES}"
    for f in source.functions:
        if f.lines > FUNCTION_LINES:
            yield f.line, f.name, f"{f.lines} lines, at most {FUNCTION_LINES}"
    if source.room.split("/")[0] in STRUCT_ROOMS:
        for s in source.structs:
            if s.fields > STRUCT_FIELDS:
                yield s.line, s.name, f"struct of {s.fields} fields, at most {STRUCT_FIELDS}"


def crowded(paths):
    """Folders with too many files."""
    for folder, files in sorted(Counter(path.parent for path in paths).items()):
        if files > FOLDER_FILES:
            yield f"{folder}: {files} files, at most {FOLDER_FILES}"


def check_self():
    fields = "".join(f"    int (*f{i})(int a, int b), g{i};\n" for i in range(12))
    text = ("void f(void)\n{\n" + "    g();\n" * 58 + "}\n"
            "struct s {\n" + fields + "    struct {\n        int x;\n    } y;\n};\n"
            "struct t {\n" + fields + "    union {\n        int x, z;\n    };\n    enum { A, B } e;\n};\n")
    self_check([(1, "f"), (62, "s"), (79, "t")],
               [found[:2] for found in violations(Source("src/ingress/a.c", text))])
    self_check([(1, "a.c")], [found[:2] for found in violations(Source("src/a/a.c", "\n" * 501))])
    self_check(1, len(list(crowded([Path(f"a/{i}") for i in range(31)]))))


def main():
    failures, used = [], set()
    for source in sources("src"):
        for line, name, what in violations(source):
            if (str(source), name) in EXCEPTIONS:
                used.add((str(source), name))
            else:
                failures.append(f"{source}:{line}: {name}: {what}")
    failures += crowded([s.path for s in sources("src", "tests/unit")])
    failures += [f"{file}: {name} is small enough: take it out of EXCEPTIONS"
                 for file, name in EXCEPTIONS if (file, name) not in used]
    finish(failures, "Split by who needs what, not by length alone.")


check_self()
main()
