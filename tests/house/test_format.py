"""One hand: clang-format has nothing to change, and neither have the rules in layout.py."""
import sys

from layout import CLANG_FORMAT_VERSION, FOLDERS, clang_format, unformatted, violations, with_braces
from source import SKIP, Source, finish, self_check, sources

BAD = """
void f(void)
{
    if (a)
        b(c,
          d);
    else
        e();
    for (;;)
        if (a)
            b(sizeof c);
    do
        b(); /* %s */
    while (a);
    while (a)
        ;
    if (a) /* one line on its own */
        b();
}
""" % ("ä" * 90)


def check_self():
    self_check(["a.c:4: a body of more than one line without braces",
                "a.c:9: a body of more than one line without braces",
                "a.c:11: sizeof without parentheses",
                "a.c:13: 109 characters, at most 100"], list(violations(Source("a.c", BAD))))
    self_check(2, len(list(violations(Source("a.c", with_braces(Source("a.c", BAD)))))))


def main():
    failures = [v for s in sources(*FOLDERS) for v in violations(s)]
    formatter = clang_format()
    if formatter:
        failures += unformatted(formatter, [str(s) for s in sources(*FOLDERS)])
    finish(failures, "Run scripts/format (make format).")
    if not formatter:
        print(f"no clang-format {CLANG_FORMAT_VERSION}: run scripts/setup test")
        sys.exit(SKIP)


check_self()
main()
