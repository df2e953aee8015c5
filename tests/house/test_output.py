"""What `ax` prints is safe text, because there is one way out.

Keys, reasons, headers and bodies are foreign. src/cli/output.c makes them safe on a terminal, and
say() in src/cli/cli.c does for stderr. Whoever prints past them could forget it.
"""
import re

from source import Source, finish, self_check, sources

PRINTS = re.compile(r"\b(v?f?printf|vd?printf|dprintf|f?puts(?:_unlocked)?|f?putc(?:har)?(?:_unlocked)?|"
                    r"fwrite(?:_unlocked)?|json_dumpf|json_dumpfd|perror|psignal|write)\s*\(")
OUTPUT = "src/cli/output.c"

# (file, call): why it is there.
EXCEPTIONS = {
    ("src/cli/cli.c", "fprintf"): "say(), which makes the line safe",
    ("src/cli/work/job.c", "fwrite"): "the command's own stderr goes on to that of ax work",
    ("src/cli/work/job.c", "write"): "the body goes to the command's stdin",
    ("src/cli/up/server.c", "fputs"): "writes a file, the configuration of nats-server",
}


def calls(source):
    """[(line, call)] of what this file must not call."""
    if source.room.split("/")[0] != "cli" or str(source) == OUTPUT:
        return []
    return [(source.line_of(m.start()), m.group(1)) for m in PRINTS.finditer(source.code)]


def check_self():
    bad = Source("src/cli/dead/a.c", """
static void a(void)
{
    printf("%s", key); /* printf() */
    fprintf(stderr, "puts(");
    putchar(10);
    output_print("%s", key);
    snprintf(buf, sizeof(buf), "%s", key);
    json_dumpf(value, stdout, 0);
}
""")
    self_check([(4, "printf"), (5, "fprintf"), (6, "putchar"), (9, "json_dumpf")], calls(bad))
    self_check([], calls(Source("src/dispatch/a.c", bad.text)))
    self_check([], calls(Source(OUTPUT, bad.text)))


def main():
    failures, used = [], set()
    for source in sources("src"):
        for line, call in calls(source):
            if (str(source), call) in EXCEPTIONS:
                used.add((str(source), call))
            else:
                failures.append(f"{source}:{line}: calls {call}(): use output_print() or say()")
    failures += [f"{file}: no longer calls {call}(): take it out of EXCEPTIONS"
                 for file, call in EXCEPTIONS if (file, call) not in used]
    finish(failures, "Foreign text reaches a terminal through cli/output.h only.")


check_self()
main()
