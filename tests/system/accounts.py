"""AX on a server whose teams are kept apart by accounts, as `ax access` prints them; one on which all share an account.

    async def test(ax):
        producer = await ax.seat("mail-producer").connect()     # nats-py, with the rights of that user
        worker = await ax.seat("mail-email").worker("email")
    run(test)                                                   # teams mail and shop
    run(test, single=True)                                      # producer, email, ingress, dispatch, operator

ax.nc, ax.submit() and `ax` commands are the operator's. What a server refuses to a seat is in ax.problems.
"""
import os
import subprocess

import nats

import harness
from harness import Ax, Worker, eventually, own

# Two teams that do not trust each other: mail has two pools, shop one and two priorities.
TEAMS = ("mail:pools=email,newsletter", "shop:pools=invoice,priorities=normal,low")
ONE_TEAM = ("mail:pools=email",)


def access(*args, cwd=None, check=True):
    """What `ax access` says: (exit code, stdout, stderr); check: the configuration, or an assertion."""
    done = subprocess.run([own("ax"), "access", *args], capture_output=True, text=True, cwd=cwd, timeout=30)
    if not check:
        return done.returncode, done.stdout, done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout


class Seat:
    """What one user of the configuration has in hand: a name, a password, its inboxes."""

    def __init__(self, ax, user):
        self.ax, self.user = ax, user
        with open(os.path.join(ax.directory, "passwords", user)) as f:
            self.password = f.read().strip()
        own_inbox = "_INBOX" if ax.shared_inbox or user == "operator" else f"_INBOX.{user}"
        self.inbox = f"_INBOX_{user}" if user in ("ingress", "dispatch") else own_inbox

    def env(self):
        """The environment of AX's programs."""
        return {"NATS_USER": self.user, "NATS_PASSWORD": self.password, "AX_INBOX_PREFIX": self.inbox}

    async def connect(self, name="test", **options):
        """A connection of nats-py. What the server refuses is added to ax.problems as (user, error)."""
        async def note(error):
            self.ax.problems.append((self.user, error))
        nc = await nats.connect(self.ax.url, name=name, user=self.user, password=self.password,
                                inbox_prefix=self.inbox, error_cb=note, max_reconnect_attempts=-1,
                                reconnect_time_wait=0.05, **options)
        self.ax.connections.append(nc)
        return nc

    async def worker(self, pool, handler=None, **options):
        worker = Worker(self, pool, handler, **options)
        self.ax.workers.append(worker)
        return await worker.start()

    def spawn(self, name, argv, env=None):
        return self.ax.spawn(name, argv, {**self.env(), **(env or {})})

    async def command(self, *argv, env=None, **options):
        return await self.ax.command(*argv, env={**self.env(), **(env or {})}, **options)


class Accounts(Ax):
    def __init__(self, teams=TEAMS, single=False, shared_inbox=False, access_args=(), config="", **options):
        super().__init__(**options)
        self.teams, self.shared_inbox, self.problems = teams, shared_inbox, []
        args = [a for t in teams for a in ("--team", t)] + (["--single"] if single else [])
        args += ["--inbox", "shared"] if shared_inbox else []
        self.config = access(*args, *access_args, "--passwords", "passwords", cwd=self.directory) + config
        operator = self.seat("operator")
        self.env.update(operator.env())
        self.connect_options = {"user": operator.user, "password": operator.password}

    def seat(self, user):
        return Seat(self, user)

    def daemon(self, name, number=0, args=()):
        """A daemon has the rights of its own user only."""
        before = self.env
        self.env = {**self.env, **self.seat(name.removeprefix("ax-")).env()}
        try:
            return super().daemon(name, number, args)
        finally:
            self.env = before

    async def pools(self, *pools):
        """The pools exist, with their consumers."""
        for pool in pools:
            await self.pool(pool)

    def violations(self):
        """What the server refused to anybody."""
        return [line for line in self.server.log().splitlines() if "iolation" in line]

    async def refused(self, user, text, seconds=5):
        """Waits until the server has refused something with this text to the user."""
        await eventually(lambda: [e for u, e in self.problems if u == user and text.lower() in str(e).lower()], seconds,
                         f"{text} is refused to {user}: {self.problems}")


def run(test, seconds=110, **options):
    harness.run(test, seconds, make=Accounts, **options)
