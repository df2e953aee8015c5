# The documentation and the code name the same things: commands, flags, variables, pool settings, headers, metrics,
# streams, answers, functions and files. Each failure is a line with the name that is missing and where.
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("AX_BIN_DIR") or sys.exit("AX_BIN_DIR is not set: the directory with ax, ax-ingress and ax-dispatch")
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md", "tests/model/README.md",
         *sorted(os.path.relpath(f, ROOT) for f in glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True))]
COLUMNS = 100
# Headers that the documentation shows as an example of what is refused.
TYPOS = {"Ax-Dealy"}
failures = []


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def sources(*patterns):
    files = [f for p in patterns for f in glob.glob(os.path.join(ROOT, p), recursive=True) if os.path.isfile(f)]
    assert files, patterns
    return "\n".join(read(os.path.relpath(f, ROOT)) for f in sorted(files))


docs = {page: read(page) for page in PAGES}
everything = "\n".join(docs.values())


def same(what, code, where, documented, extra_is_wrong=True):
    """Names in the code must be in the documentation and, unless told otherwise, the other way round."""
    assert code, f"no {what} found in the code: this test reads it wrongly"
    assert documented, f"no {what} found in {where}: this test reads it wrongly"
    for name in sorted(set(code) - set(documented)):
        failures.append(f"{what} {name} is not documented in {where}")
    for name in sorted(set(documented) - set(code)) if extra_is_wrong else ():
        failures.append(f"{what} {name} is documented in {where} and does not exist")


def section(page, title):
    """The text under a heading, up to the next one of its level or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", docs[page], re.M | re.S)
    if not found:
        failures.append(f"heading {title!r} is missing in {page}")
        return ""
    return found[2]


def rows(text, heading):
    """First cells of the table whose first heading is `heading`."""
    cells = []
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.M):
        lines = table.splitlines()
        if lines[0].split("|")[1].strip() == heading:
            cells += [re.split(r"(?<!\\)\|", line)[1] for line in lines[2:]]
    return cells


def one_line(text):
    return " ".join(text.split())


def ticked(cells, pattern):
    return [m for cell in cells for code in re.findall(r"`([^`]+)`", cell) for m in re.findall(pattern, code)]


def program(name, *args):
    path = os.path.join(BIN, name)
    done = subprocess.run([path, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{name} {args}: {done.returncode} {done.stderr}"
    return done.stdout


LONG = r"--[a-z][a-z-]*"


def help_flags(text):
    """Flags at the beginning of a help line."""
    return {flag for line in text.splitlines() if re.match(r"\s+-", line)
            for flag in re.findall(LONG, line.split("  ")[1] if line.startswith("  ") else line)} | {
        flag for flag in re.findall(rf"^\s+(?:-\w, |    )?({LONG})", text, re.M)}


overview = program("ax", "help")
commands = re.findall(r"^  ([a-z]+) +\S", overview.split("Flags")[0], re.M)
commands = [c for c in commands if c != "help"]
common = help_flags(overview.split("Flags", 1)[1])
flags_of = {c: help_flags(program("ax", "help", c)) for c in commands}


def check_commands():
    same("command", commands, "docs/cli.md's list", ticked(rows(docs["docs/cli.md"], "command"), r"ax ([a-z]+)"))
    files = glob.glob(os.path.join(ROOT, "src/cli/**/cmd_*.c"), recursive=True)
    same("command", commands, "the files src/cli/**/cmd_*.c", [os.path.basename(f)[len("cmd_"):-len(".c")] for f in files])
    for command in commands:
        text = section("docs/cli.md", f"ax {command}")
        documented = ticked(rows(text, "flag"), LONG)
        if flags_of[command] or documented:
            same(f"flag of ax {command}", flags_of[command], f"docs/cli.md, ax {command}", documented)
        if not text.strip():
            failures.append(f"docs/cli.md, ax {command}, says nothing")
    table = section("docs/cli.md", "Common flags")
    same("flag", common, "docs/cli.md, Common flags", ticked(rows(table, "flag"), LONG))
    for name in ("ax-ingress", "ax-dispatch"):
        takes = help_flags(program(name, "--help"))
        for flag in takes - common:
            failures.append(f"flag {flag} of {name} is not documented in docs/cli.md")
        same(f"flag that {name} does not take", common - takes, "docs/cli.md",
             re.findall(LONG, re.search(rf"`{name}` (?:takes )?all(?: of them)? but (.*?)(?:, `ax-|\.)", one_line(table))[1]))
    variables = re.findall(r"\((NATS_[A-Z_]+|AX_[A-Z_]+)[;)]", overview)
    same("variable", variables, "docs/cli.md, Common flags",
         [m for line in table.splitlines() if line.startswith("|") for m in re.findall(r"`((?:NATS|AX)_[A-Z_]+)`", line)])
    for code in re.findall(r"Exit codes: (.*)", overview)[0].split(", "):
        number = code.split()[0]
        if not re.search(rf"\b{number} ", docs["docs/cli.md"].split("## ")[0]):
            failures.append(f"exit code {number} is not documented in docs/cli.md")


def used_lines():
    """What the pages tell people to type: code spans, and lines of blocks."""
    for page, text in docs.items():
        for span in re.findall(r"`([^`\n]+)`", text):
            yield page, span
        for line in re.findall(r"^    (?:\$ )?(.+)$", text, re.M):
            yield page, line


def check_used():
    for page, line in used_lines():
        found = re.match(r"(?:build/bin/)?ax ([a-z][a-z-]*)(?![.\w])(.*)", line)
        if not found or found[1] in ("help", "ready"):
            continue
        command, rest = found[1], re.sub(r"'[^']*'|\"[^\"]*\"", "", found[2])
        if command not in commands:
            failures.append(f"{page}: `{line}`: there is no command ax {command}")
            continue
        for flag in re.findall(rf"(?<!\S)\[?({LONG})", rest.split("#")[0]):
            if flag not in flags_of[command] | common | {"--help"}:
                failures.append(f"{page}: `{line}`: ax {command} has no flag {flag}")
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.M))
    for page, line in used_lines():
        for target in re.findall(r"^(?:sudo )?make ([a-z]+)\b", line):
            if target not in targets:
                failures.append(f"{page}: `{line}`: the Makefile has no target {target}")


def check_settings():
    table = re.search(r"#define SETTINGS_TABLE\(X\)(.*?)\n\n", read("src/task/settings.h"), re.S)[1]
    found = re.findall(r"X\(\w+, (\w+), ([A-Z]+), ([^,]+), ([^,]+), ([^,]+?),", re.sub(r"\\\n\s*", "", table))
    names = [name for name, *_ in found]
    assert len(names) == table.count("X("), "the table of settings is read wrongly"
    described = {cells[1].strip().strip("`"): [c.strip() for c in cells[2:4]] for cells in (
        line.split("|") for line in docs["docs/tuning.md"].splitlines() if line.startswith("| `")) if len(cells) > 4}
    hour = 3600000
    defines = {"SETTINGS_HOUR_MS": hour, "SETTINGS_DAY_MS": 24 * hour, "BACKOFF_BASE_MS": 30000, "BACKOFF_CAP_MS": hour}

    def shown(kind, text):
        number = eval(text, {"__builtins__": {}}, defines)
        if kind != "DURATION":
            return f"{number:.7g}"
        unit, ms = next((u, n) for u, n in (("d", 24 * hour), ("h", hour), ("m", 60000), ("s", 1000), ("ms", 1))
                        if number % n == 0)
        return f"{number // ms}{unit}"

    for name, kind, least, most, standard in found:
        if kind in ("REAL", "WHOLE", "DURATION") and name in described:
            cells = described[name]
            if cells[0] != f"{shown(kind, least)} to {shown(kind, most)}":
                failures.append(f"docs/tuning.md: range of {name} is {cells[0]}, in the code {least} to {most}")
            if "burst" not in name and cells[1] != shown(kind, standard):
                failures.append(f"docs/tuning.md: default of {name} is {cells[1]}, in the code {standard}")
    users = sources("src/ingress/**/*.c", "src/dispatch/**/*.c", "src/task/settings.c")
    for field in re.findall(r"X\((\w+),", table):
        if not re.search(rf"\b(?:settings|s)(?:->|\.){field}\b", users):
            failures.append(f"pool setting {field} is a row of src/task/settings.h, and nothing acts on it")
    same("pool setting", names, "docs/tuning.md's table", ticked(rows(docs["docs/tuning.md"], "pool setting"), r"^[a-z_]+$"))
    pool = section("docs/cli.md", "ax pool")
    same("pool setting", names, "docs/cli.md, ax pool",
         re.findall(r"`([a-z_]+)`", re.search(r"Settings: (.*?);", one_line(pool))[1]))
    for page, line in used_lines():
        for name in re.findall(r"(?<=\s)([a-z_]{2,})=[\w.]+", line) if re.match(r"ax pool (add|set) ", line) else ():
            if name not in names:
                failures.append(f"{page}: `{line}`: there is no pool setting {name}")
        if "kv put AX_POOLS" in line:
            for name in re.findall(r'"([a-z_]+)":', line):
                if name not in names:
                    failures.append(f"{page}: `{line}`: there is no pool setting {name}")


def check_headers():
    defined = re.findall(r'#define HDR_[A-Z_]+ "([^"]+)"', read("src/task/names.h"))
    ours = {h for h in defined if h.startswith("Ax-")}
    same("header", ours, "docs/protocol.md", set(re.findall(r"\bAx-[A-Za-z-]*[A-Za-z]", docs["docs/protocol.md"])) - TYPOS)
    for page, text in docs.items():
        for name in set(re.findall(r"\bAx-[A-Za-z-]*[A-Za-z]", text)) - ours - TYPOS:
            failures.append(f"header {name} is documented in {page} and does not exist")
        for name in set(re.findall(r"`(Nats-[A-Z][A-Za-z-]*)`", text)) - set(defined):
            failures.append(f"header {name} is documented in {page} and the code does not know it")
    constants = dict(re.findall(r'#define HDR_([A-Z_]+) "([^"]+)"', read("src/task/names.h")))
    table = re.search(r"#define HEADER_TABLE\(GIVEN, OWN\)(.*?)\n\n", read("src/task/header_table.h"), re.S)[1]
    given = re.findall(r"GIVEN\((\w+), (\w+), \w+, \w+, (\w+)\)", table)
    own = re.findall(r"OWN\((\w+), \w+, \w+, (\w+), \w+\)", table)
    assert len(given) + len(own) == table.count("GIVEN(") + table.count("OWN("), "the table of headers is read wrongly"
    limits = section("docs/protocol.md", "Headers, fields and limits")
    same("header of a submission", [constants[i] for i, _, _ in given] + ["Ax-Schema"],
         "docs/protocol.md, Headers, fields and limits", ticked(rows(limits, "header"), r"^Ax-.*"))
    same("protobuf field", [member for _, member, _ in given] + ["headers"],
         "docs/protocol.md, Headers, fields and limits", ticked(
             [line.split("|")[2] for line in limits.splitlines() if line.startswith("|")], r"^[a-z_]+$"))
    users = sources("src/ingress/**/*.c", "src/dispatch/**/*.c", "src/task/task_submit.c")
    for row in re.findall(r"GIVEN\(\w+, \w+, (\w+),", table):
        if not re.search(rf"\b(?:task|t|next)(?:->|\.){row}\b", users):
            failures.append(f"header field {row} is a row of src/task/header_table.h, and nothing acts on it")
    carried = re.search(r"^All stages carry (.*?)\n\n", docs["docs/protocol.md"] + "\n\n", re.M | re.S)[1]
    for i, stages in [(i, stages) for i, _, stages in given] + own:
        if stages == "EVERYWHERE" and f"`{constants[i]}`" not in carried:
            failures.append(f"docs/protocol.md, All stages carry: {constants[i]} is missing")


def check_answers():
    protocol = docs["docs/protocol.md"]
    number = dict(re.findall(r"#define (JSERR_[A-Z_]+) (\d+)", read("src/bus/jserr.h")))
    ingress = sources("src/ingress/**/*.[ch]")
    codes = [number[name] for name in re.findall(r"answer_set_error\(\s*&?\w+, \d+,\s+(JSERR_[A-Z_]+)", ingress)]
    same("err_code", codes, "docs/protocol.md, Errors",
         re.findall(r"^\| \d+ \| (\d+) \|", section("docs/protocol.md", "Errors"), re.M))
    states = re.findall(r'X\(STATE_[A-Z]+, "([a-z]+)"\)', ingress)
    same("state", states, "docs/protocol.md, Answers",
         ticked(rows(section("docs/protocol.md", "Answers"), "state"), r"^[a-z]+$"))
    reasons = re.findall(r'X\(REFUSED_[A-Z_]+, "([a-z_]+)"\)', ingress)
    line = re.search(r"\| `ax_ingress_refused_total` .*", docs["docs/operating.md"])[0]
    same("reason of refusal", reasons, "docs/operating.md", re.findall(r"`([a-z_]+)`", line.split("not taken:")[1]))
    texts = re.search(r"texts\[\] = \{(.*?)\}", read("src/cli/streams/find.c"), re.S)[1]
    line = re.search(r"States: (.*?)\.", one_line(section("docs/cli.md", "ax status")))[1]
    same("state", re.findall(r'"([a-z]+)"', texts), "docs/cli.md, ax status", re.findall(r"`([a-z]+)`", line))
    for name in re.findall(r'"(AX_[A-Z]+)"', re.search(r"variables\[\] = \{(.*?)\}", read("src/cli/work/job.c"), re.S)[1]):
        if name not in section("docs/cli.md", "ax work"):
            failures.append(f"variable {name} of ax work is not documented in docs/cli.md")
    # Every text of a refusal that begins with a word of its own.
    answers = 0
    for text in re.findall(r'(?:answer_set_error\(\s*&?\w+, \d[^"]*|refuse\(s, REFUSED_[A-Z_]+,\s+)"([A-Za-z_-]+[: ])', ingress):
        answers += 1
        if text not in protocol:
            failures.append(f"answer beginning with {text!r} is not documented in docs/protocol.md")
    assert answers > 8, answers
    for member in re.findall(r"^\s+[a-z0-9A-Z]+ ([a-z_]+) = \d+;", re.search(
            r"message Reply \{(.*?)\n\}", read("schemas/ax/v1/task.proto"), re.S)[1], re.M):
        if f"`{member}`" not in section("docs/protocol.md", "Protobuf"):
            failures.append(f"field {member} of ax.v1.Reply is not documented in docs/protocol.md")


def check_stats():
    table = read("src/stats/stats_answer.h")
    names = re.findall(r"X\((\w+), [A-Z]+\)", table) + re.findall(r"X\(\w+_SERIES_\w+, (\w+)\)", table)
    assert len(names) > 30, names
    for name in sorted(set(names)):
        if f"`{name}`" not in docs["docs/protocol.md"].split("\n# Stats\n")[1]:
            failures.append(f"field {name} of the answer on ax.figures is not documented in docs/protocol.md, Stats")


def check_metrics():
    code = set(re.findall(r'"(ax_[a-z_]+)"', sources("src/ingress/**/*.c", "src/dispatch/**/*.c",
                                                    "src/stats/http*.c")))
    same("metric", code, "docs/operating.md", ticked(rows(section("docs/operating.md", "Metrics"), "name"), r"^ax_[a-z_]+$"))
    for page, text in docs.items():
        for name in set(re.findall(r"\bax_[a-z_]+_(?:total|bytes|ids|entries)\b|\bax_inflight\b", text)) - code:
            failures.append(f"metric {name} is documented in {page} and does not exist")


def check_streams():
    streams = {os.path.basename(f)[:-len(".json")] for f in glob.glob(os.path.join(ROOT, "streams/*.json"))}
    same("stream", streams, "docs/design/overview.md",
         ticked(rows(section("docs/design/overview.md", "Streams"), "stream"), r"^[A-Z_]+$"))
    known = streams | {s[len("KV_"):] for s in streams if s.startswith("KV_")} | set(re.findall(
        r"\bAX_[A-Z0-9_]+\b", sources("src/**/*.[ch]", "scripts/**", "CMakeLists.txt", "Makefile", "tests/system/*.py")))
    for page, text in docs.items():
        for name in set(re.findall(r"\b(?:KV_)?AX_[A-Z0-9_]+\b", text)) - known:
            if name.startswith("AX_PASSWORD_") and '"AX_PASSWORD_"' in sources("src/cli/access/*.c"):
                continue  # of a user that ax access makes up
            failures.append(f"{page}: {name} is neither a stream nor a variable")
    stages = set(re.findall(r'"(?:\$KV\.)?(ax\.[a-z]+)[.%"]', sources("src/**/*.[ch]", "streams/*.json"))) - {
        "ax.rank", "ax.on", "ax.max", "ax.pool", "ax.v", "ax.lock"}
    for stage in sorted(s for s in stages if not re.search(rf"\b{re.escape(s)}\b", everything)):
        failures.append(f"subject {stage}.… is not documented")
    for key in ("ax.rank", "ax.on_full", "ax.group_share", "ax.pool_share", "ax.max_later"):
        if key not in docs["docs/tuning.md"]:
            failures.append(f"metadata {key} is not documented in docs/tuning.md")


def anchors(text):
    """As GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", t.replace("`", "").lower()).replace(" ", "-") for t in titles}


def check_links():
    links, reached = 0, {"README.md"}
    to = {page: set() for page in PAGES}
    for page, text in docs.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            path, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(ROOT, os.path.dirname(page), path)) if path else os.path.join(ROOT, page)
            to[page].add(os.path.relpath(full, ROOT))
            if not os.path.exists(full):
                failures.append(f"{page}: link to {target}: there is no such file")
            elif anchor and anchor not in anchors(read(os.path.relpath(full, ROOT))):
                failures.append(f"{page}: link to {target}: there is no such heading")
    assert links > 20, links
    new = reached
    while new:
        new = {target for page in new for target in to[page] if target in to} - reached
        reached = reached | new
    for page in sorted(set(PAGES) - reached):
        failures.append(f"{page} is not reachable by links from README.md")


def prose(text):
    """Lines that are neither of a table nor of a block of code, with their numbers."""
    fenced = after_blank = block = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        block = line.startswith("    ") and (block or after_blank)
        after_blank = not line.strip()
        if not fenced and not fence and not block and not line.startswith("|"):
            yield number, line


def check_width():
    lines = 0
    for page, text in docs.items():
        for number, line in prose(text):
            lines += 1
            if len(line) > COLUMNS:
                failures.append(f"{page}:{number}: {len(line)} columns; prose has at most {COLUMNS}")
    assert lines > 1000, lines


ROOMS = ["base", "task", "bus", "done", "stats", "ingress", "dispatch", "cli"]


def check_functions():
    for room in re.findall(r"`(?:src/)?([a-z]+(?:/[a-z]+)?)/`", everything):
        if room.split("/")[0] in ROOMS and not os.path.isdir(os.path.join(ROOT, "src", room)):
            failures.append(f"folder src/{room} is named in the documentation and does not exist")
    named = re.findall(rf"`(?:src/)?((?:{'|'.join(ROOMS)})/[\w/]+\.[ch])(?::(\w+))?`", everything)
    assert len(named) > 30, len(named)
    for path, function in sorted(set(named)):
        if not os.path.exists(os.path.join(ROOT, "src", path)):
            failures.append(f"src/{path} is named in the documentation and does not exist")
        elif function and not re.search(rf"^(?:\w[\w *]*[ *])?{function}\(", read(f"src/{path}"), re.M):
            failures.append(f"function {function} is not in src/{path}, where the documentation says it is")


def check_sections():
    """A comment that names a page and a section: docs/design/groups.md, "Turns"."""
    for path in glob.glob(os.path.join(ROOT, "src/**/*.[ch]"), recursive=True):
        name = os.path.relpath(path, ROOT)
        text = re.sub(r"\s+\*?\s*", " ", read(name))
        for page, title in re.findall(r'(docs/[\w/-]+\.md), "([^"]+)"', text):
            if page in docs and not re.search(rf"^#+ {re.escape(title)}$", docs[page], re.M):
                failures.append(f"{name}: {page} has no section {title!r}")


def check_snippets():
    """The snippets call what the tested examples call."""
    kinds = {"python": "examples/python/*.py", "go": "examples/go/*/main.go", "js": "examples/node/*.mjs"}
    for kind, pattern in kinds.items():
        snippets = {page: re.findall(rf"^```{kind}\n(.*?)^```", docs[page], re.M | re.S)
                    for page in ("README.md", "docs/clients.md")}
        blocks = [block for found in snippets.values() for block in found]
        for page in ("docs/clients.md", "README.md") if kind == "python" else ("docs/clients.md",):
            if len(snippets[page]) < 2:
                failures.append(f"{page} has no {kind} snippet of a producer and a worker")
        called = set(re.findall(r"\.(\w+)\(", "\n".join(blocks)))
        for name in sorted(called - set(re.findall(r"\.(\w+)\(", sources(pattern)))):
            failures.append(f"a {kind} snippet calls {name}, which {pattern} does not")


# The key of a task is its producer's text: a shell snippet quotes it, and gives it to a program behind "--".
SNIPPETS = [*PAGES, "scripts/demo", "src/cli/work/cmd_work.c", *sorted(
    os.path.relpath(f, ROOT) for f in glob.glob(os.path.join(ROOT, "examples/cli/*.sh")))]


def careless(line):
    """Why this line of shell trusts the key; None: it does not."""
    for found in re.finditer(r"\$\{?AX_KEY\b", line):
        before = line[:found.start()]
        if before.count('"') % 2 == 0:
            return "is not in double quotes"
        if " -- " not in before and "printf '" not in before:
            return "is not behind --"
    return None


def check_shell():
    assert careless("./mail -- $AX_KEY") and careless('./mail "$AX_KEY"') and careless('./mail -- "$AX_TASK" "${AX_KEY}" $AX_KEY')
    assert not careless('./mail -- "$AX_KEY" "$AX_TASK"') and not careless("printf '%s' \"$AX_KEY\"")
    for page in SNIPPETS:
        for number, line in enumerate(read(page).splitlines(), 1):
            if careless(line):
                failures.append(f"{page}:{number}: $AX_KEY {careless(line)}: {line.strip()}")


for check in (check_commands, check_used, check_settings, check_headers, check_answers, check_stats, check_metrics, check_streams,
              check_links, check_width, check_functions, check_sections, check_snippets, check_shell):
    check()
for failure in failures:
    print(failure)
print(f"{len(PAGES)} pages, {len(failures)} failures")
sys.exit(1 if failures else 0)
