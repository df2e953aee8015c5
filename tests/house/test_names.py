"""A function's name says in which file it is: every external one begins with its file's name.

metrics.c may say metric_ or metrics_. No two external functions share a name, in no two programs.
"""
from source import Source, finish, self_check, sources

# file: (other prefixes its functions have, why).
PREFIXES = {
    "src/dispatch/attempt/attempt_moves.c": (
        ("attempt_state", "attempt_event", "attempt_action", "attempt_fact"),
        "each is of one of the enums that the table of moves is made of"),
}

# (file, function): why its name is not the file's.
EXCEPTIONS = {
    ("src/base/error.c", "ax_err_text"): "the text of an ax_err, which is the project's own type",
    ("src/base/error.c", "problem_set"): "struct problem is the text that goes with an ax_err",
    ("src/cli/cli.c", "say"): "every command's voice; cli_say would be on every other line",
    ("src/cli/cli.c", "say_problem"): "as say",
}


def prefixes(source):
    stem = source.path.stem
    others, _ = PREFIXES.get(str(source), ((), ""))
    return {stem, stem + "s", stem.removesuffix("s"), *others}


def external(source):
    return [f for f in source.functions if not f.static and f.name != "main"]


def is_named_after(name, prefix):
    return name == prefix or name.startswith(prefix + "_")


def misnamed(source):
    return [f for f in external(source)
            if not any(is_named_after(f.name, p) for p in prefixes(source))]


def check_self():
    found = misnamed(Source("src/stats/metrics.c", """
void metric_add(int n)
{
}
struct metrics *metrics_new(void (*cb)(void *arg), int n)
{
    return NULL;
}
static void other(void)
{
}
__attribute__((format(printf, 1, 2))) bool metricsy(const char *format, ...)
{
}
"""))
    self_check([("metricsy", 12)], [(f.name, f.line) for f in found])


def main():
    failures, used, seen = [], set(), {}
    for source in sources("src", ending=(".c",)):
        for f in misnamed(source):
            key = (str(source), f.name)
            if key in EXCEPTIONS:
                used.add(key)
            else:
                failures.append(f"{source}:{f.line}: {f.name}: rename it to {source.path.stem}_…")
        for f in external(source):
            where = f"{source}:{f.line}"
            if f.name in seen:
                failures.append(f"{where}: {f.name}: {seen[f.name]} has one of that name")
            seen[f.name] = where
    failures += [f"{file}: {name} is gone or renamed: take it out of EXCEPTIONS"
                 for file, name in EXCEPTIONS if (file, name) not in used]
    finish(failures, "A stranger finds a function by its name.")


check_self()
main()
