"""One word for one thing (docs/glossary.md): the words that this code base has given up stay away."""
import re

from source import Source, finish, self_check, sources

# Given up: what is said instead.
INSTEAD = {
    "receipts?": "ack",
    "keepers?": "provisioner",
    "lanes?": "queue, or priority",
    "survey": "rebuild",
    "figures?": "stats",
    "comes again|came again": "is redelivered",
    "look(s|ed)? after": "verify",
}
# What others depend on: subjects, and reasons that are stored.
KEPT = re.compile(r'ax\.figures|"no receipt within ack wait"')
WORD = re.compile(r"(?<![a-z])(?:%s)(?![a-z])" % "|".join(f"(?P<w{i}>{word})" for i, word in
                                                         enumerate(INSTEAD)), re.I)


def violations(source):
    text = KEPT.sub(lambda m: " " * len(m.group()), source.text)
    for m in WORD.finditer(text):
        instead = list(INSTEAD.values())[int(m.lastgroup[1:])]
        yield f'{source}:{source.line_of(m.start())}: "{m.group()}": {instead}'


def check_self():
    bad = Source("src/a.c", """
/* A receipt comes again: ax.figures, planes, planned. */
static int receipt_count;
""")
    self_check(['src/a.c:2: "receipt": ack', 'src/a.c:2: "comes again": is redelivered',
                'src/a.c:3: "receipt": ack'], list(violations(bad)))


def main():
    finish([v for s in sources("src", "tests", "examples")
            for v in violations(s)], "docs/glossary.md has the words.")


check_self()
main()
