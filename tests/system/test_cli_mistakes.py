# What a person types wrong is named as it was typed, by flags and not by headers, with what may be meant; exit code 2.
from cli import cli
from harness import run

MISTAKES = (
    (("stauts",), ("stauts", "did you mean ax status?")),
    (("dead", "list"), ("dead list", "did you mean ls?", "ls, show, retry, drop")),
    (("cron", "delete", "k"), ("did you mean rm?",)),
    (("cron", "puase", "k"), ("did you mean pause?",)),
    (("pool", "create", "p"), ("did you mean add?",)),
    (("pool", "zzzzzz"), ("pool zzzzzz", "allowed are ls, add, set")),
    (("submit", "--priorty", "low", "b"), ("--priorty", "did you mean --priority?")),
    (("submit", "--dealy=1s", "b"), ("--dealy:", "did you mean --delay?")),
    (("--log-level", "wran", "status"), ("wran", "did you mean warn?")),
    (("pool", "set", "email", "rat=5"), ("rat", "did you mean rate?")),
    (("submit", "--priority", "hgih", "b"), ("--priority", "hgih", "did you mean high?", "high, normal, low")),
    (("submit", "--cron", "@hourly", "b"), ("--cron is given without --key",)),
    (("submit", "--time-zone", "UTC", "b"), ("--time-zone is given without --cron",)),
    (("submit", "--delay", "1s", "--at", "2040-01-01T00:00:00Z", "b"), ("--delay and --at are both given",)),
    (("submit", "--max-retry", "-1", "b"), ("--max-retry: ",)),
    (("submit", "--timeout", "1y", "b"), ("--timeout: ",)),
    (("submit", "--ordered", "b"), ("--ordered is given without --group",)),
    (("submit", "--key", "k", "--cron", "@hourly", "--overlap", "sikp", "b"), ("--overlap: ", "sikp", "skip")),
    (("submit", "--header", "Ax-Dealy: 1s", "b"), ("Ax-Dealy", "did you mean --delay?")),
)


async def test(ax):
    await ax.pool("email")
    await ax.pool("default")
    for args, words in MISTAKES:
        code, out, err = await cli(ax, *args)
        assert code == 2 and out == "" and err.count("\n") == 1, (args, code, out, err)
        for word in words:
            assert word in err, f"ax {args}: no {word!r} in {err!r}"
        if "Ax-Dealy: 1s" not in args:
            assert "Ax-" not in err and "Nats-" not in err, (args, err)


run(test)
