# `ax access`: deploy/nats-accounts.conf and the block of docs/operating.md are what it prints, nats-server accepts what
# it prints, passwords are made once and kept to their owner, and bad input is refused with words that help.
import os
import re
import subprocess

from accounts import ONE_TEAM, TEAMS, access
from harness import ROOT, need, run

NAME = r"[A-Za-z0-9_-]"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def check_files(directory):
    teams = [a for t in TEAMS for a in ("--team", t)]
    printed = access("--passwords", "passwords", *teams, cwd=directory)
    assert printed == read("deploy/nats-accounts.conf"), "deploy/nats-accounts.conf is not what ax access prints"
    section = read("docs/operating.md").split("## Permissions")[1]
    block = re.search(r"^    authorization \{.*?^    \}", section, re.M | re.S)[0]
    single = access("--single", "--team", ONE_TEAM[0])
    assert re.sub(r"^    ", "", block, flags=re.M) == single[single.index("authorization"):].rstrip("\n"), \
        "the block of docs/operating.md is not what ax access --single prints"
    # One table: what a user may do with AX's subjects is the same in both set-ups, inboxes aside.
    both = {}
    for name, text in (("accounts", printed), ("single", access("--single", "--team", TEAMS[0]))):
        for user, rights in re.findall(r'user: "([\w-]+)", password: \S+, permissions: \{(.*?)\} \}', text, re.S):
            subjects = [s for s in re.findall(r'"([^"]+)"', rights) if not s.startswith(("_INBOX", "_R_"))]
            both.setdefault(user.removeprefix("mail-"), {})[name] = subjects
    for user in ("ingress", "dispatch", "producer", "email", "newsletter"):
        assert both[user]["accounts"] == both[user]["single"], (user, both[user])


def check_server(directory, *args):
    """nats-server accepts it, with passwords from its environment and from files."""
    server = need("nats-server", "AX_NATS_SERVER")
    base = f'listen: "127.0.0.1:-1"\njetstream {{ store_dir: "{directory}/js" }}\n'
    for i, more in enumerate(([], ["--passwords", "passwords"])):
        text = access(*args, *more, cwd=directory)
        conf = os.path.join(directory, f"{i}.conf")
        with open(conf, "w") as f:
            f.write(base + text)
        env = dict(os.environ) if more else {**os.environ, **{v: "let-me-in" for v in re.findall(r"\$(AX_PASSWORD_\w+)", text)}}
        done = subprocess.run([server, "-t", "-c", conf], capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
    done = subprocess.run([server, "-t", "-c", os.path.join(directory, "0.conf")], capture_output=True, text=True)
    assert done.returncode != 0 and "AX_PASSWORD_" in done.stderr, "a server without the passwords does not start"


def check_passwords(directory):
    teams = [a for t in TEAMS for a in ("--team", t)]
    text = access("--passwords", "pw", *teams, cwd=directory)
    folder = os.path.join(directory, "pw")
    users = {"mail-producer", "mail-email", "mail-newsletter", "shop-producer", "shop-invoice", "ingress", "dispatch",
             "operator"}
    assert set(os.listdir(folder)) == users | {"passwords.conf"}, os.listdir(folder)
    assert oct(os.stat(folder).st_mode & 0o777) == "0o700"
    made = {}
    for name in os.listdir(folder):
        assert oct(os.stat(os.path.join(folder, name)).st_mode & 0o777) == "0o600", name
        made[name] = open(os.path.join(folder, name)).read()
    assert len({made[u] for u in users}) == len(users) and all(re.fullmatch(r"[0-9A-Za-z]{32}\n", made[u]) for u in users)
    assert f'AX_PASSWORD_MAIL_PRODUCER: "{made["mail-producer"].strip()}"\n' in made["passwords.conf"]
    assert not any(made[u].strip() in text for u in users), "a password is printed"
    # Again, with another team: what is there stays; passwords.conf has those of this configuration.
    access("--passwords", "pw", "--team", TEAMS[0], "--team", "late:pools=p", cwd=directory)
    for user in users:
        assert open(os.path.join(folder, user)).read() == made[user]
    variables = re.findall(r"^(AX_\w+):", open(os.path.join(folder, "passwords.conf")).read(), re.M)
    assert "AX_PASSWORD_LATE_P" in variables and "AX_PASSWORD_SHOP_INVOICE" not in variables, variables

    def refused(words):
        code, out, err = access("--passwords", "pw", *teams, cwd=directory, check=False)
        assert code in (1, 2) and not out and all(w in err for w in words), (code, out, err)
    path = os.path.join(folder, "mail-email")
    os.chmod(path, 0o640)
    refused(("mail-email", "0600"))
    os.remove(path)
    os.symlink("/etc/hostname", path)
    refused(("mail-email",))
    os.remove(path)
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write('"\nlisten: 1\n')
    refused(("mail-email", "password"))
    os.remove(path)
    # A link in place of the file that is written next, and of the directory: neither is followed.
    target = os.path.join(directory, "precious")
    with open(target, "w") as f:
        f.write("precious")
    os.remove(os.path.join(folder, "passwords.conf"))
    os.symlink(target, os.path.join(folder, "passwords.conf.new"))
    access("--passwords", "pw", *teams, cwd=directory)
    assert open(target).read() == "precious" and not os.path.islink(os.path.join(folder, "passwords.conf"))
    os.chmod(folder, 0o777)
    refused(("others",))
    os.chmod(folder, 0o700)
    os.rename(folder, folder + "2")
    os.symlink("pw2", folder)
    refused(("pw",))


BAD = (
    ([], "--team is missing"),
    (["--team", "mail"], "mail has no pools"),
    (["--team", "mail:email"], "pools=…"),
    (["--team", "mail:pools="], "pool \"\" is not a name"),
    (["--team", "mail:pools=e.mail"], "pool \"e.mail\" is not a name"),
    (["--team", "mail:pools=>"], "pool \">\" is not a name"),
    (["--team", "mail:pools=" + "x" * 33], "is not a name"),
    (["--team", "mail:pools=a,a"], "pool a is given twice"),
    (["--team", "mail:pools=a,priorities=*"], "priority \"*\" is not a name"),
    (["--team", "mail:pools=a,colour=red"], "there is no option \"colour\""),
    (["--team", "mail:pools=a,workers=many"], "workers=\"many\" is not allowed; it must be pool or team"),
    (["--team", "mail:pools=a,cancel=maybe"], "it must be no or yes"),
    (["--team", "ax:pools=a"], "AX's own account"),
    (["--team", "9lives:pools=a"], "is not a team's name"),
    (["--team", "m\"x\" {:pools=a"], "is not a team's name"),
    (["--team", "a:pools=p", "--team", "A:pools=q"], "given twice"),
    (["--team", "a:pools=p,q", "--team", "b:pools=q"], "pool q is given to a and to b"),
    (["--team", "a:pools=x-y,x_y"], "AX_PASSWORD_A_X_Y"),
    (["--team", "a:pools=producer"], "share the password"),
    (["--team", "a:pools=b-c", "--team", "a-b:pools=c"], "share the password"),
    (["--team", "a:pools=p", "--team", "b:pools=q", "--single"], "--single is for one team"),
    (["--single", "--team", "a:pools=ingress"], "share the password"),
    (["--team", "a" * 20 + ":pools=" + "p" * 21], "too long"),
    (["--team", "a:pools=p", "--inbox", "none"], "allowed are private, shared"),
    (["--team", "a:pools=p", "--domain", "*"], "--domain"),
    (["--team", "a:pools=p", "--pull-wait", "0s"], "--pull-wait"),
    (["--team", "a:pools=p", "--passwords", "/etc"], "relative"),
    (["--team", "a:pools=p", "--passwords", "x\"\ny"], "relative"),
    (["--team", "a:pools=p", "--passwords", "no/such"], "no/such"),
)


def check_bad(directory):
    for args, words in BAD:
        code, out, err = access(*args, cwd=directory, check=False)
        assert code in (1, 2) and not out and words in err and len(err.splitlines()) == 1, (args, code, out, err)


async def test(ax):
    for check in (check_files, check_passwords, check_bad):
        check(ax.directory)
    check_server(ax.directory, *(a for t in TEAMS for a in ("--team", t)))
    check_server(ax.directory, "--single", "--team", TEAMS[0])
    check_server(ax.directory, "--team", "all:pools=1,true,include,X-y,priorities=high,workers=team,workers-submit=yes,"
                 "cancel=yes", "--team", "true:pools=p,cancel=yes", "--team", "include:pools=q", "--inbox", "shared",
                 "--domain", "hub", "--pull-wait", "1h30m")


run(test, ingress=0, dispatch=0)
