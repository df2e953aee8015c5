"""One header a file: x.h declares the external functions of x.c, all of them and no others."""
import re

from source import Source, finish, self_check, sources

# A header that declares a function for each row of a table: where the table is, what its rows look
# like, and the function's name.
ROWS = {
    "src/task/task_rule.h": ("src/task/header_table.h", r"GIVEN\(\w+, (\w+),", "task_rule_{}"),
    "src/cli/commands.h": ("src/cli/commands.h", r" X\((\w+), \"", "cmd_{}"),
}


def header_of(source):
    return str(source.path.with_suffix(".h"))


def violations(files):
    """[(place, what)]; files: all of them."""
    declared, defined = {}, {}
    for source in files:
        for d in source.declarations if source.path.suffix == ".h" else ():
            declared.setdefault(d.name, []).append((str(source), d.line))
        for f in source.functions if source.path.suffix == ".c" else ():
            if not f.static and f.name != "main":
                defined[f.name] = (source, f.line)
    texts = {str(source): source for source in files}
    for header, (table, row, name) in ROWS.items():
        for m in re.finditer(row, texts[table].text) if table in texts else ():
            declared.setdefault(name.format(m.group(1)), []).append((header, 1))
    for name, (source, line) in defined.items():
        headers = [header for header, _ in declared.get(name, [])]
        if header_of(source) not in headers and not ROWS.keys() & headers:
            yield f"{source}:{line}", (f"{name} is not declared in {header_of(source)}: "
                                       "declare it there, or make it static")
    for name, places in declared.items():
        for header, line in places:
            if name not in defined:
                yield f"{header}:{line}", f"{name} is defined nowhere"
            elif header not in ROWS and header != header_of(defined[name][0]):
                yield f"{header}:{line}", (f"{name} is defined in {defined[name][0]}: "
                                           "declare it in that file's header")


def check_self():
    files = [Source("src/base/a.c", "void a_go(void)\n{\n}\nvoid a_hidden(void)\n{\n}\n"),
             Source("src/base/a.h", "void a_go(void);\nint b_go(int (*f)(void));\n"
                                   "void gone(void);\n"),
             Source("src/base/b.c", "int b_go(int (*f)(void))\n{\n}\n")]
    self_check(["src/base/a.c:4", "src/base/a.h:2", "src/base/a.h:3", "src/base/b.c:1"],
               sorted(place for place, _ in violations(files)))


def main():
    finish([f"{place}: {what}" for place, what in violations(sources("src"))],
           "Who reads a header knows which file to open next.")


check_self()
main()
