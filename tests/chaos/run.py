"""Tries to break AX: run.py [--servers 1|3] [--seconds N] [--seed N] …; see docs/testing.md. Ends with 0 when the judge
found nothing, 1 with the history of what it found, and the logs in a directory that it names.
"""
import argparse
import asyncio
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "system"))

import harness  # noqa: E402
from harness import Process, own  # noqa: E402

import sink  # noqa: E402
from fleet import Fleet  # noqa: E402
from injector import Injector, plan  # noqa: E402
from judge import Judge  # noqa: E402
from proxy import Proxy  # noqa: E402
from servers import Servers, seconds  # noqa: E402
from watcher import Watcher  # noqa: E402

RATE, BURST = 80, 20
BOUNDS = {"AX_HIGH": 80, "AX_NORMAL": 200, "AX_LOW": 100}
OWN_NAMESPACE = "CHAOS_OWN_NAMESPACE"


def enter_namespace():
    """Starts this program again in a mount namespace of its own, if the machine allows it: for small disks that fill."""
    if os.environ.get(OWN_NAMESPACE):
        return os.environ[OWN_NAMESPACE] == "1"
    for flags in (["--mount"], ["--map-root-user", "--mount"]):
        way = ["unshare", *flags]
        try_out = [*way, "mount", "-t", "tmpfs", "none", "/mnt"]
        if shutil.which("unshare") and subprocess.run(try_out, capture_output=True).returncode == 0:
            os.environ[OWN_NAMESPACE] = "1"
            os.execvp("unshare", [*way, sys.executable, *sys.argv])
    os.environ[OWN_NAMESPACE] = "0"
    return False


class Run:
    def __init__(self, options, may_mount):
        self.options, self.may_mount = options, may_mount
        self.directory = tempfile.mkdtemp(prefix="ax-chaos-")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("NATS_", "AX_"))}
        self.env.update(HOME=self.directory, XDG_CONFIG_HOME=self.directory, AX_REPLICAS=str(min(options.servers, 3)),
                        PYTHONDONTWRITEBYTECODE="1", CHAOS_SINK="0", CHAOS_ACK_WAIT=str(options.ack_wait))
        self.problems = []
        self.proxy = self.sink = self.sink_process = self.servers = self.fleet = self.watcher = self.producers = None

    def log(self, e, **fields):
        self.sink.tell(e, **fields)

    # ---- life

    async def start(self):
        options = self.options
        with open(os.path.join(self.directory, "proxy.log"), "wb") as log:
            self.proxy = Proxy(log, harness._child)
        self.database = os.path.join(self.directory, "history.sqlite")
        self.sink_process = Process("sink", [sys.executable, os.path.join(HERE, "sink.py"), self.database], self.env,
                                    self.directory).start()
        port = int(await harness.eventually(lambda: self.sink_process.log().strip(), 10, "the sink"))
        self.sink = await sink.Client(port).connect()
        self.servers = Servers(self.directory, options.servers, self.env, self.proxy, self.may_mount,
                               int(options.rate * (options.seconds + 60)))
        await self.servers.start()
        await self._init()
        self.fleet = Fleet(self.directory, self.servers, self.env, port, options.ack_wait, self.log)
        self.fleet.add_daemons(options.ingress, options.dispatch,
                               ["--lease-ttl", f"{int(options.lease * 1000)}ms"])
        self.fleet.add_workers(options.languages)
        self.fleet.start()
        self.supervisor = asyncio.create_task(self.fleet.supervise())
        self.watcher = Watcher(self.servers, self.log)
        await self.watcher.start()
        self.producers = Process("producers", [sys.executable, os.path.join(HERE, "producers.py"), str(options.seed),
                                               str(options.rate), str(options.two_priorities)],
                                 {**self.fleet.env, "CHAOS_SINK": str(port),
                                  "NATS_URL": self.servers.url_for("producers")}, self.directory).start()

    async def _init(self):
        """Streams, bounds that are soon reached, and pools whose time-outs and backoffs are short."""
        env = {**self.env, "NATS_URL": ",".join(s.url for s in self.servers.servers)}

        async def ax(*words):
            out = await asyncio.to_thread(subprocess.run, [own("ax"), *words], env=env, capture_output=True, text=True,
                                          timeout=60)
            return out.returncode == 0 or print(f"ax {' '.join(words)}: {out.stderr}", flush=True)
        # Its size is given by hand: 1 GiB is more than the small store has.
        await self.servers.add_stream("AX_SPILL", max_bytes=8 << 20)
        await harness.eventually(lambda: ax("init"), 60, "ax init", every=0.5)
        for name, bound in BOUNDS.items():
            fields = {"max_msgs": bound}
            # A bound is to be reached, and never passed: all of it is for whoever comes first. AX_NORMAL is shared.
            if name == "AX_HIGH":
                fields["metadata"] = {"ax.rank": "1", "ax.on_full": "busy", "ax.pool_share": "1"}
            if name == "AX_LOW":
                fields["metadata"] = {"ax.rank": "3", "ax.on_full": "spill", "ax.pool_share": "1"}
            await self.servers.edit_stream(name, **fields)
        for pool, more in (("open", ()), ("rated", (f"rate={RATE}", f"burst={BURST}")), ("lang", ()), ("shell", ())):
            await harness.eventually(lambda p=pool, m=more: ax(
                "pool", "add", p, "backoff=200ms", "backoff_cap=1s", "max_timeouts=1000", "max_retry=1000", *m), 30)
            await self.servers.edit_consumer("AX_WORK", pool, ack_wait=int(self.options.ack_wait * 1e9))

    async def flow(self):
        """Waits until tasks are finished: chaos in a system that has not begun proves nothing."""
        await harness.eventually(lambda: self.watcher.recorded > 50, 60, "50 tasks finished")

    async def play(self):
        options = self.options
        steps = plan(options.seed, options.seconds, options.servers, options.every, options.more)
        steps = [s for s in steps if s.kind not in options.without and (not options.only or s.kind in options.only)]
        if options.verbose:
            print("\n".join(f"  {s}" for s in steps), flush=True)
        self.injector = Injector(self.fleet, self.servers, self.proxy, self.log, options.ack_wait, options.lease,
                                 options.lose_quorum)
        self.log("chaos begins")
        await self.injector.run(steps)
        self.log("chaos ends")

    async def settle(self):
        """Everything runs and nothing is injected any more: what is under way must come to its end."""
        begun = time.monotonic()
        self.producers.p.terminate()
        try:
            code = await asyncio.to_thread(self.producers.p.wait, self.options.settle)
            assert code == 0, f"producers ended with {code}"
        except subprocess.TimeoutExpired:
            self.problems.append(f"{self.options.settle:g} s after the last fault producers still offer what they had "
                                 "no answer to, or only busy")
            self.producers.kill()
        left = await self.watcher.settled(self.options.settle)
        if set(left) == {"AX_WORK"}:
            left = await self.sweep(left)
        self.settled_s = time.monotonic() - begun
        if left:
            with open(os.path.join(self.directory, "left.json"), "w") as f:
                json.dump(await self.watcher.picture(), f, indent=1)
            for member in self.fleet.of("ingress", "dispatch"):
                with open(os.path.join(self.directory, f"{member.name}.metrics"), "w") as f:
                    f.write(await asyncio.to_thread(member.metrics))
        await self.watcher.finish()
        return left

    async def sweep(self, left):
        """A server that goes down between the ack of a hand-off and its removal may keep it: it stays, to no harm, until a
        dispatcher takes the pool over. So that must be seen to clear it."""
        print(f"{left['AX_WORK']} hand-offs were acked and not removed by the servers; dispatch is started again for them")
        for member in self.fleet.of("dispatch"):
            await asyncio.to_thread(member.stop, 15)
            member.start()
        return await self.watcher.settled(30)

    async def close(self):
        if self.fleet:
            self.fleet.kill()
        for process in (self.producers, self.sink_process):
            if process and process.p:
                process.kill()
        if self.servers:
            try:
                await self.servers.close()
            except Exception:  # noqa: BLE001
                pass
        if self.proxy:
            self.proxy.p.kill()

    # ---- verdict

    async def judge(self, left):
        self.supervisor.cancel()
        problems = self.problems + self.fleet.wrong_ends()
        problems += await asyncio.to_thread(self.fleet.stop, "ingress", "dispatch")
        await self.sink.close()
        self.sink_process.stop()
        ended = sum(1 for name, _ in self.fleet.ended if name.startswith("example"))
        killed = self.injector.counts.get("kill-example", 0)
        facts = {"servers": self.options.servers, "ack_wait": self.options.ack_wait, "lease": self.options.lease,
                 "rated": ("rated", RATE, BURST), "left": left, "problems": problems, "lost_lines": 2 * (ended + killed)}
        with open(os.path.join(self.directory, "facts.json"), "w") as f:
            json.dump(facts, f)
        return judge_directory(self.directory)

    def report(self, judge):
        seconds = self.options.seconds
        print(f"\ninjected in {seconds:g} s ({self.injector.skipped} left out, their target was down already):")
        for kind, number in sorted(self.injector.counts.items()):
            print(f"  {number:6} {kind}")
        print("figures:")
        for name, number in judge.figures.items():
            print(f"  {number:6} {name}")
        for name, number in self.watcher.highest.items():
            print(f"  {number:6} most messages in {name}, bound {BOUNDS[name]}")
        print(f"  {self.watcher.samples:6} samples of bounds")
        print(f"  {self.settled_s:6.1f} seconds until all had settled")
        print("starts beyond a task's first, by cause:")
        for cause, number in sorted(judge.causes.items()):
            print(f"  {number:6} {cause}")


def logs(directory, kind):
    for name in sorted(os.listdir(directory)):
        if name.startswith(kind) and name.endswith(".log"):
            with open(os.path.join(directory, name), errors="replace") as f:
                yield f.read()


def leaderless(directory, events):
    """When a pool had no leader that was ready, as events for the judge: from the dispatchers' logs, and their kills."""
    stamp = re.compile(r'^ts=(\S+) .* msg="(pool ready|lease lost|lease given up)" pool=(\S+)', re.M)
    turns = []  # (seconds, dispatcher, pool or None for all, begins to lead)
    for name in sorted(n for n in os.listdir(directory) if re.fullmatch(r"dispatch-\d+\.log", n)):
        with open(os.path.join(directory, name), errors="replace") as f:
            turns += [(seconds(t), name[:-4], pool, what == "pool ready") for t, what, pool in stamp.findall(f.read())]
    turns += [(e["t"], e["who"], None, False) for e in events
              if (e["e"] == "fault" and e["kind"] == "kill" and e["role"] == "dispatch")
              or (e["e"] == "ended" and e["who"].startswith("dispatch"))]
    turns.sort(key=lambda turn: turn[0])
    leads, since, found = {}, {}, []
    for t, who, pool, begins in turns:
        for p in [pool] if pool else [p for p, leader in leads.items() if leader == who]:
            if begins:
                leads[p] = who
                if p in since:
                    found.append((since.pop(p), p, t))
            elif leads.get(p) == who:
                leads[p] = None
                since[p] = t
    found += [(t, p, max([turn[0] for turn in turns])) for p, t in since.items()]
    return [{"t": t, "e": "fault", "kind": "no leader", "who": pool, "role": "lease", "until": until}
            for t, pool, until in found]


def work_leaders(directory):
    """(seconds, server) whenever AX_WORK got another leader, from the servers' logs; none for a single server."""
    stamp = re.compile(r"^\[\d+\] (\S+) (\S+) \[INF\] JetStream cluster new stream leader for '.* > AX_WORK'", re.M)
    found = []
    for name in sorted(n for n in os.listdir(directory) if re.fullmatch(r"server-\d+\.log", n)):
        with open(os.path.join(directory, name), errors="replace") as f:
            found += [(seconds(f"{day.replace('/', '-')}T{t}Z"), name[:-4]) for day, t in stamp.findall(f.read())]
    return found


def judge_directory(directory):
    with open(os.path.join(directory, "facts.json")) as f:
        facts = json.load(f)
    lines = [line for text in logs(directory, "example") for line in re.findall(r"done task=(\S+) fence=(\d+)", text)]
    events = sink.read_events(os.path.join(directory, "history.sqlite"))
    judge = Judge(events + leaderless(directory, events), done_lines=lines, work_leaders=work_leaders(directory), **facts)
    judge.judge()
    return judge


def accuse(judge):
    print(f"\n{len(judge.verdicts)} VERDICTS AGAINST AX:")
    for i, (text, task) in enumerate(judge.verdicts):
        if i == 20:
            print(f"… and {len(judge.verdicts) - i} more")
            break
        print(f"* {text}" + (f" (task {task})" if task else ""))
        if task and i < 5:
            print("\n".join(judge.history(task)))


async def main(options, may_mount):
    how = f"{options.servers} server{'s' if options.servers > 1 else ''}, {options.seconds:g} s"
    print(f"chaos: SEED={options.seed} ({how}, ingress × {options.ingress}, dispatch × {options.dispatch}; "
          f"stores on {'a small tmpfs for each server' if may_mount else 'the common disk'})",
          flush=True)
    run, failed = Run(options, may_mount), True
    try:
        await run.start()
        if run.fleet.skipped:
            print(f"without workers in: {', '.join(run.fleet.skipped)}")
        await run.flow()
        await run.play()
        left = await run.settle()
        judge = await run.judge(left)
        run.report(judge)
        failed = bool(judge.verdicts)
        if failed:
            accuse(judge)
    finally:
        if failed:
            for server in (run.servers.servers if run.servers else []):
                if server.small_disk and options.keep_stores:
                    shutil.copytree(server.disk, f"{server.disk}-copy", dirs_exist_ok=True)
        await run.close()
        if failed or options.keep:
            print(f"\nlogs and history: {run.directory} (replay: SEED={options.seed})", flush=True)
        else:
            shutil.rmtree(run.directory, ignore_errors=True)
    print(f"chaos: {'FAILED' if failed else 'nothing lost, nothing twice'} (SEED={options.seed}, {how})", flush=True)
    return 1 if failed else 0


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--servers", type=int, default=1, choices=(1, 3))
    p.add_argument("--seconds", type=float, default=60, help="of chaos; starting and settling come on top")
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--rate", type=float, default=None, help="tasks a second (200; 60 on a cluster)")
    p.add_argument("--every", type=float, default=0.8, help="seconds between two steps, at the mean")
    p.add_argument("--ingress", type=int, default=2)
    p.add_argument("--dispatch", type=int, default=2)
    p.add_argument("--lease", type=float, default=None, help="seconds of a dispatcher's lease (2; 5 on a cluster)")
    p.add_argument("--ack-wait", type=float, default=None, help="seconds that a worker has (2; 4 on a cluster)")
    p.add_argument("--two-priorities", type=float, default=0.0,
                   help="share of the keys offered under two priorities at once")
    p.add_argument("--settle", type=float, default=150, help="seconds in which what is left must become less, until nothing is")
    p.add_argument("--languages", type=lambda s: s.split(","), default=["python", "c", "go", "node"])
    p.add_argument("--without", type=lambda s: s.split(","), default=[], help="kinds of faults to leave out")
    p.add_argument("--more", type=lambda s: s.split(","), default=[],
                   help="kinds beside the usual ones: disk-full, of a real disk")
    p.add_argument("--only", type=lambda s: s.split(","), default=[], help="kinds of faults to take alone")
    p.add_argument("--lose-quorum", action="store_true", help="let more than one server of a cluster be down at a time")
    p.add_argument("--keep", action="store_true", help="keep logs and history in any case")
    p.add_argument("--keep-stores", action="store_true", help="and the servers' stores when it failed")
    p.add_argument("-v", "--verbose", action="store_true")
    p.add_argument("--judge", metavar="DIRECTORY", help="judge what was kept of a run once more, run nothing")
    options = p.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1, 10**6)
    single = options.servers == 1
    options.rate = options.rate or (200 if single else 60)
    options.lease = options.lease or (2.0 if single else 5.0)
    options.ack_wait = options.ack_wait or (2.0 if single else 4.0)
    return options


if __name__ == "__main__":
    options = parse()
    if options.judge:
        found = judge_directory(options.judge)
        if found.verdicts:
            accuse(found)
        print(dict(found.causes))
        sys.exit(1 if found.verdicts else 0)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # not a line for every write while a server is down
    sys.exit(asyncio.run(main(options, enter_namespace())))
