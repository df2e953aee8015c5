"""What `ax` prints is safe text, because there is one way out.

Keys, reasons, headers and bodies are foreign. src/cli/output.c makes them safe on a terminal, and
say() in src/cli/cli.c does for stderr. Whoever prints past them could forget it.
"""
import re

from source import Source, finish, self_check, sources

PRINTS = re.compile(r"\b(printf|vprintf|puts|putchar(?:_unlocked)?|perror|psignal)\s*\(|\b(stdout|stderr)\b|"
                    r"\b(?:write|dprintf)\s*\(\s*(STD(?:OUT|ERR)_FILENO)\b")
OUTPUT = "src/cli/output.c"

# (file, what it uses): why it is there.
EXCEPTIONS = {
    ("src/cli/cli.c", "stderr"): "say(), which makes the line safe",
    ("src/cli/submit/progress.c", "stderr"): "a line that is written over, which it makes safe",
    ("src/cli/up/cmd_up.c", "stdout"): "flushes the ready line",
    ("src/cli/access/cmd_access.c", "stdout"):
        "a configuration to be read by nats-server, of names that were checked",
}


def uses(source):
    """[(line, what)] of the ways to stdout and stderr that this file uses."""
    if source.room.split("/")[0] != "cli" or str(source) == OUTPUT:
        return []
    return [(source.line_of(m.start()), next(filter(None, m.groups()))) for m in PRINTS.finditer(source.code)]


def check_self():
    bad = Source("src/cli/dead/a.c", """
static void a(FILE *file)
{
    printf("%s", key); /* printf() */
    fprintf(stderr, "puts(");
    putchar(10);
    output_print("%s", key);
    snprintf(buf, sizeof(buf), "%s", key);
    json_dumpf(value, stdout, 0);
    fputs(key, file);
    write(STDOUT_FILENO, key, 1);
}
""")
    self_check([(4, "printf"), (5, "stderr"), (6, "putchar"), (9, "stdout"), (11, "STDOUT_FILENO")], uses(bad))
    self_check([], uses(Source("src/dispatch/a.c", bad.text)))
    self_check([], uses(Source(OUTPUT, bad.text)))


def main():
    failures, used = [], set()
    for source in sources("src"):
        for line, what in uses(source):
            if (str(source), what) in EXCEPTIONS:
                used.add((str(source), what))
            else:
                failures.append(f"{source}:{line}: uses {what}: use output_print() or say()")
    failures += [f"{file}: no longer uses {what}: take it out of EXCEPTIONS"
                 for file, what in EXCEPTIONS if (file, what) not in used]
    finish(failures, "Foreign text reaches a terminal through cli/output.h only.")


check_self()
main()
