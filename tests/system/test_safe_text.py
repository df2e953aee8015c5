# Foreign text on a terminal: no command of ax passes on what steers a terminal or turns the line around, be it in a
# key, group, header, reason, body, schedule, setting, argument or answer. A pipe and --json get every byte.
# ctest: sanitize=address
import json
import re

from cli import piped, terminal
from harness import eventually, own, run

EVIL = b"k\x1b]0;x\x07\xc2\x9b31m\xe2\x80\xae\xf3\xa0\x81\x81"
SHOWN = r"k\x1b]0;x\x07\u009b31m\u202e\U000e0041"
RAW = EVIL + b"\x9b\xff"  # is not UTF-8
RAW_SHOWN = SHOWN + r"\x9b\xff"
BODY = b"line 1\n\tline 2 " + RAW + b"\r\n\\d \\x1b end"
BODY_SHOWN = "line 1\n\tline 2 " + RAW_SHOWN + r"\x0d" + "\n" + r"\d \\x1b end"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
                       "\U000e0000-\U000e0fff]")


def safe(shown, what):
    """The text on the terminal; fails when a byte of it could mislead."""
    text = shown.decode()  # strictly: what is not UTF-8 is escaped as well
    assert not FORBIDDEN.search(text), f"{what}: {text!r}"
    return text


async def show(ax, *args, holds="", code=0):
    got, shown = await terminal(ax, *args)
    text = safe(shown, args)
    assert holds in text, f"{args}: {text!r}, wanted {holds!r}"
    assert got == code, f"{args} ended with {got}: {text}"
    return text


async def exact(ax, *args):
    code, out, err = await piped(ax, *args)
    assert code == 0, f"{args} ended with {code}: {err!r}"
    return out


async def make_dead(ax):
    """Two dead letters, whose reason is the worker's."""
    for key in (EVIL, RAW):
        code, out, err = await piped(ax, "submit", "--pool", "email", "--key", key, "--group", key, "--header",
                                     b"X-Note:" + EVIL, BODY)
        assert code == 0, err
    worker = ax.spawn("work", [own("ax"), "work", "email", "--exec", r"printf 'gone \302\233\342\200\256\n' >&2; exit 65"])
    await eventually(lambda: count(ax, "AX_DEAD", 2), 20, "both are dead letters")
    assert worker.stop() == 0


async def count(ax, stream, n):
    return await ax.messages(stream) == n


async def dead_letters(ax):
    await make_dead(ax)
    text = await show(ax, "dead", "ls", holds=SHOWN)
    rows = text.splitlines()
    assert len(rows) == 3 and len({line.index(word) for line, word in zip(rows, ("reason", "terminated", "terminated"))}) == 1, text
    for key, shown in ((EVIL, SHOWN), (RAW, RAW_SHOWN)):
        await show(ax, "status", "--pool", "email", key, holds=f"key        {shown}\n")
        await show(ax, "status", "--pool", "email", key, holds=f"group      {shown}\n")
        await show(ax, "status", "--pool", "email", key, holds=r"reason     terminated: exit 65: gone \u009b\u202e" + "\n")
        assert b"key        " + key + b"\n" in await exact(ax, "status", "--pool", "email", key)
    text = await show(ax, "dead", "show", "--pool", "email", EVIL, holds=f"header     X-Note: {SHOWN}\n")
    assert text.endswith("\n\n" + BODY_SHOWN + "\n"), text
    out = await exact(ax, "dead", "show", "--pool", "email", EVIL)
    assert out.endswith(b"\n\n" + BODY + b"\n") and b"header     X-Note: " + EVIL + b"\n" in out, out
    assert b"reason     terminated: exit 65: gone \xc2\x9b\xe2\x80\xae\n" in out, out


async def values_in_json(ax):
    """The value is the same on a terminal, where JSON's own escapes stand for what could mislead."""
    for args in (("dead", "show", "--pool", "email", EVIL, "--json"), ("dead", "ls", "--json"),
                 ("status", "--pool", "email", EVIL, "--json")):
        plain = await exact(ax, *args)
        assert json.loads(await show(ax, *args)) == json.loads(plain), args
        assert b"\xe2\x80\xae" in plain and EVIL[-7:] in plain, plain


async def schedules(ax):
    args = ("submit", "--pool", "email", "--cron", "@hourly")
    await show(ax, *args, "--key", b"s" + EVIL, "x")
    await show(ax, "cron", "ls", holds="s" + SHOWN)
    text = await show(ax, "cron", "show", "--pool", "email", b"s" + EVIL, holds="s" + SHOWN)
    assert text.endswith("\n\nx\n"), text
    for verb in ("pause", "resume", "rm"):
        await show(ax, "cron", verb, "--pool", "email", b"s" + EVIL)
    await show(ax, "cron", "show", "--pool", "email", b"s" + RAW, holds=r"\u009b31m\u202e\U000e0041\x9b\xff: no recurring task", code=1)


async def settings(ax):
    await ax.put_pool("odd", b'{"rate":5,"group_weights":{"' + EVIL[:1] + b"\xe2\x80\xae" + b'":2}}')
    await show(ax, "pool", "ls", holds=r"k\u202e")
    await ax.put_pool("odd", b'{"rate":"' + RAW + b'"}')
    await show(ax, "pool", "ls")
    code, shown = await terminal(ax, "doctor")
    safe(shown, "doctor")
    assert code in (0, 1), shown


async def arguments(ax):
    """What ax did not understand, or does not know, is named."""
    for args in ((b"c" + RAW,), (b"--c" + RAW,), ("--log-level", RAW, "status"), ("help", RAW), ("pool", "add", RAW),
                 ("pool", "set", "email", RAW), ("pool", "set", "email", RAW + b"=1"), ("status", "--pool", RAW, "k"),
                 ("submit", "--pool", RAW, "x"), ("submit", "--header", RAW, "x"), ("work", RAW, "--exec", "true"),
                 ("dead", "ls", RAW), ("submit", "--inflight", RAW, "x")):
        code, shown = await terminal(ax, *args)
        assert code == 2 and "31m" in safe(shown, args), (args, code, shown)
    for args in (("status", RAW), ("dead", "show", RAW), ("cancel", RAW), ("cron", "show", RAW)):
        args = (*args, "--pool", "default")
        await show(ax, *args, holds=r"k\x1b]0;x" if args[0] in ("status", "cancel") else "k", code=1)
    code, out, err = await piped(ax, "status", RAW, "--pool", "default")
    assert code == 1 and err.startswith(b"ax: " + RAW + b": unknown"), err


async def own_text(ax):
    """What ax itself has to say looks the same on a terminal."""
    for args in (("help",), ("help", "pool"), ("help", "work"), ("init",), ("status",)):
        code, shown = await terminal(ax, *args)
        assert (code, shown, b"") == await piped(ax, *args), (args, shown)


async def refusals(ax):
    """Ingress tells what it was given without passing it on."""
    code, out, err = await piped(ax, "submit", "--pool", "email", "--max-retry", EVIL, "x")
    assert code == 2 and b"max-retry" in err.lower(), err
    safe(err, "the answer")
    await show(ax, "submit", "--pool", "email", "--max-retry", EVIL, "x", code=2)
    await show(ax, "submit", "--pool", "email", "--key", EVIL, "x", holds=" dead (duplicate)")
    await show(ax, "cancel", "--pool", "email", EVIL, code=1)
    await show(ax, "dead", "retry", "--pool", "email", EVIL, holds=" queued again")
    await show(ax, "dead", "drop", "--pool", "email", RAW, holds=" dropped")


async def answers(ax):
    """Whoever answers in place of ingress."""
    assert ax.ingress.stop() == 0
    reply = {"error": {"code": 400, "err_code": 10003, "description": EVIL.decode()}}

    async def answer(msg):
        await msg.respond(json.dumps(reply, ensure_ascii=False).encode())
    await ax.nc.subscribe("ax.submit.>", cb=answer)
    await ax.nc.flush()
    await show(ax, "submit", "x", holds=f"ax: {SHOWN}\n", code=2)
    code, out, err = await piped(ax, "submit", "x")
    assert err == b"ax: " + EVIL + b"\n", err
    reply = {"task": "t", "state": EVIL.decode(), "stream": "s", "seq": 1}
    await show(ax, "submit", "x", holds=f"t {SHOWN[:5]}")


async def logs(ax):
    """Whatever stderr is: a log is read by people later."""
    await ax.nc.publish(f"ax.due.high.email.{EVIL.decode()}", b"x")
    await eventually(lambda: "names no task" in ax.ingress.log(), 10, "ingress names the message that is no task")
    for daemon in (ax.ingress, ax.dispatch):
        with open(daemon.log_path, "rb") as f:
            safe(f.read(), daemon.name)
    assert SHOWN in ax.ingress.log(), ax.ingress.log()


async def test(ax):
    await ax.pool("email")
    await own_text(ax)
    await dead_letters(ax)
    await values_in_json(ax)
    await schedules(ax)
    await settings(ax)
    await arguments(ax)
    await refusals(ax)
    await logs(ax)
    await answers(ax)


run(test)
