"""A rig of the kill-at-every-step test: one real server, one ingress, one dispatch, one worker that lives through
everything, and a ledger that judges every start.

A task's body is its plan, one word for each attempt ("nak,ack"):
  ack       commit, then ack               nak, term   say so
  silence   never a word                   hold        in-progress until released, then ack
  late      silent until revoked, then commit and ack
"""
import asyncio
import json
import os
import signal
import subprocess
import time

from harness import SLOW, Ax, Refused, eventually, own
import nats.errors

ACK_WAIT = 1.0
FEEDER_WAIT = 2.0  # renewed every 1.5 s
POOL = {"backoff": "100ms", "backoff_cap": "200ms", "max_retry": 2}
STREAMS = ("AX_HIGH", "AX_NORMAL", "AX_LOW", "AX_LATER", "AX_SPILL", "AX_WORK")


def fault_points(program):
    out = subprocess.run([own(program), "--fault-points"], capture_output=True, text=True, timeout=20)
    assert out.returncode == 0, f"{program} was built without AX_FAULTS: {out.stderr}"
    points = out.stdout.split()
    assert len(points) == len(set(points)), f"{program}: two places share a name: {sorted(points)}"
    return points


class Ledger:
    """Every start, and a sink that takes an effect only once, and only from the newest fence it has seen."""

    def __init__(self):
        self.starts, self.effects, self.fences, self.acked = {}, {}, {}, set()
        self.errors, self.refused = [], 0
        self.again_allowed = set()  # keys whose AX_WORK was deleted: such an attempt runs again

    def start(self, task):
        key, attempt = task.key, task.attempt
        if key in self.acked:
            self.errors.append(f"{key}: started again (attempt {attempt}) after its worker had acknowledged it")
        if attempt in self.starts.setdefault(key, []) and key not in self.again_allowed:
            self.errors.append(f"{key}: attempt {attempt} was started twice, and its worker lived")
        if task.fence <= self.fences.get(key, 0):
            self.errors.append(f"{key}: fence {task.fence} after {self.fences[key]}")
        self.starts[key].append(attempt)
        self.fences[key] = task.fence

    def commit(self, task):
        if task.key in self.effects or task.fence < self.fences.get(task.key, 0):
            self.refused += 1
        else:
            self.effects[task.key] = task.fence

    def retried(self, key):
        """A person brought it back from the dead: attempts count from 1 again."""
        self.starts[key] = []


class Rig:
    def __init__(self, ax, number):
        self.ax, self.number = ax, number
        self.ledger = Ledger()
        self.worker = None
        self.releases, self.revokes = {}, {}
        self.tasks = {}      # key -> (id, pool), accepted
        self.ended = {}      # key -> "done", "dead", "cancelled"; done unless said
        self.count = 0
        self.spills = False  # AX_LOW has room for one, and spills
        self.killed = 0

    async def prepare(self):
        ax = self.ax
        await self.set_pool()
        for priority in ("high", "normal", "low"):
            for stream in ("AX_LATER", "AX_SPILL"):
                await ax.edit_consumer(stream, f"feeder-{priority}", ack_wait=int(FEEDER_WAIT * 1e9))

        async def on_revoke(msg):
            self.revokes.setdefault(msg.subject.rsplit(".", 1)[1], asyncio.Event()).set()
        await ax.nc.subscribe("ax.revoke.>", cb=on_revoke)
        await ax.nc.flush()

    async def set_pool(self):
        await self.ax.pool("email", POOL, ack_wait=ACK_WAIT)

    def key(self, name="t"):
        self.count += 1
        return f"{name}-{self.number}-{self.count}"

    # ---- working

    async def _handle(self, task):
        if "@" in task.key:
            task.key += "#" + task.id  # firings of one second share the key when one is fired by hand
        self.ledger.start(task)
        plan = task.body.decode().split(",")
        word = plan[min(task.attempt, len(plan)) - 1]
        if word == "hold":
            release = self.releases.setdefault(task.key, asyncio.Event())
            while not release.is_set():
                await task.progress()
                try:
                    await asyncio.wait_for(release.wait(), ACK_WAIT / 4)
                except asyncio.TimeoutError:
                    pass
            word = "ack"
        elif word == "late":
            await self.revokes.setdefault(task.id, asyncio.Event()).wait()
            word = "ack"
        if word == "ack":
            self.ledger.commit(task)
            self.ledger.acked.add(task.key)
        return word

    async def work(self, pool="email"):
        self.worker = await self.ax.worker(pool, self._handle, pulls=4)

    async def rest(self):
        """No worker, and no demand of one."""
        if self.worker:
            self.ax.workers.remove(self.worker)
            await self.worker.stop()
            self.worker = None

    def release(self, key):
        self.releases.setdefault(key, asyncio.Event()).set()

    def firings(self, key):
        return [k for k in self.ledger.starts if k.startswith(key + "@")]

    async def started(self, key, attempt=1):
        await eventually(lambda: attempt in self.ledger.starts.get(key, []), 15, f"attempt {attempt} of {key} started")

    # ---- what scenarios look at and bring about

    async def is_gone_from_work(self):
        return await self.ax.messages("AX_WORK") == 0

    async def say_max_deliveries(self, fence):
        """The server's advisory; as a hint it may be anything, and makes the dispatcher look."""
        await self.ax.nc.publish("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.AX_WORK.email",
                                 json.dumps({"consumer": "email", "stream_seq": fence}).encode())
        await self.ax.nc.flush()

    async def staged_without_demand(self):
        """A task that the dispatcher holds and cannot hand over."""
        await self.submit()

        async def held():
            return (await self.ax.consumer("AX_HIGH", "email"))["num_ack_pending"] > 0
        await eventually(held, 10, "the dispatcher holds a task")

    # ---- submitting, as a producer does that retries until it has an answer

    async def submit(self, plan="ack", key=None, priority="high", pool="email", headers=None):
        key = key or self.key()
        until = time.monotonic() + 30 * SLOW
        while True:
            try:
                reply = await self.ax.submit(plan, key, priority, pool, headers=headers, timeout=0.7)
                break
            except Refused as refused:
                if refused.code != 503:
                    raise
            except nats.errors.Error:
                pass
            assert time.monotonic() < until, f"{key}: no answer that it is accepted"
            await asyncio.sleep(0.05)
        if "Ax-Cron" not in (headers or {}):
            self.tasks[key] = reply["task"], pool
        return key

    def submitting(self, *args, **options):
        return asyncio.create_task(self.submit(*args, **options))

    # ---- dying and living on

    async def arm(self, daemon, point, hard=False):
        """Starts the daemon again with the fault in it."""
        daemon.kill() if hard else daemon.stop()
        await self.revive(daemon, point)
        await daemon.ready()

    async def dies(self, daemon, seconds=12):
        code = await eventually(lambda: daemon.p.poll(), seconds, f"{daemon.name} reaches {daemon.env['AX_FAULT']}")
        assert code == -signal.SIGKILL, f"{daemon.name} ended with {code} at {daemon.env['AX_FAULT']}"
        self.killed += 1

    async def revive(self, daemon, point=None):
        """Starts it without the fault (or with the next one, which it may meet at once)."""
        daemon.env = {**self.ax.env, **({"AX_FAULT": point} if point else {})}
        daemon.start()
        if not point:
            await daemon.ready()

    # ---- judging

    async def settled(self, seconds=20):
        async def check():
            left = {s: await self.ax.messages(s) for s in STREAMS}
            assert not any(left.values()), f"left: {left}"
            for key, (task, pool) in self.tasks.items():
                await self._ended(key, task, pool)
            return True
        self.ax.check_workers()
        try:
            await eventually(check, seconds, "nothing left, every accepted task ended", every=0.05)
        finally:
            assert not self.ledger.errors, self.ledger.errors
        for key in self.tasks:
            effects = 1 if key in self.ledger.effects else 0
            wanted = 1 if self.ended.get(key, "done") == "done" else 0
            assert effects == wanted, f"{key}: {effects} effects, wanted {wanted}"
        self.tasks.clear()
        reply = await self.ax.api("STREAM.PURGE.AX_DEAD")
        assert reply.get("success"), reply

    async def _ended(self, key, task, pool):
        wanted = self.ended.get(key, "done")
        record = await self.ax.record(task)
        letter = await self.ax.last("AX_DEAD", f"ax.dead.{pool}.{task}")
        # a page begins with its pool: all in it are done
        state = None if not record else {1: "done", 2: "cancelled"}.get(record[1][1]) if record[1][0] == 8 else "done"
        if letter:
            assert wanted == "dead" and letter[0].get("Ax-Reason"), f"{key}: a dead letter, {letter[0]}; wanted {wanted}"
        else:
            # Removed, and killed before it was written down: the answer to the next request is "unknown".
            assert state == wanted or (wanted == "cancelled" and state is None), f"{key}: {state}, wanted {wanted}"

    # ---- commands

    async def command(self, *args, fault=None, check=True):
        """ax …; its exit code and output."""
        env = {**self.ax.env, **({"AX_FAULT": fault} if fault else {})}
        p = await asyncio.create_subprocess_exec(own("ax"), *args, stdout=asyncio.subprocess.PIPE,
                                                 stderr=asyncio.subprocess.STDOUT, env=env, cwd=self.ax.directory)
        out, _ = await asyncio.wait_for(p.communicate(), 20 * SLOW)
        text = out.decode(errors="replace")
        assert not check or p.returncode == 0, f"ax {' '.join(args)}: {p.returncode}: {text}"
        return p.returncode, text

    async def cancel(self, key):
        """Asked until there is an answer."""
        async def ask():
            reply = await self.ax.nc.request(f"ax.cancel.email.{self.tasks[key][0]}", b"", timeout=0.7)
            return json.loads(reply.data).get("state") in ("cancelled", "unknown")
        await eventually(ask, 20, f"{key} is cancelled", every=0.1)


class Rigs:
    """Runs scenarios side by side: each is waiting most of the time."""

    def __init__(self, count):
        self.count = count

    async def run(self, work, one):
        """work: list of points; one(rig, point) runs it."""
        queue = list(reversed(work))

        async def drive(number):
            async with Ax(dispatch_args=("--lease-ttl", "1s")) as ax:
                rig = Rig(ax, number)
                await rig.prepare()
                while queue:
                    await one(rig, queue.pop())
        await asyncio.gather(*(drive(i) for i in range(self.count)))


def seconds_since(began):
    return f"{time.monotonic() - began:.1f} s"


def rigs_wanted():
    return int(os.environ.get("AX_FAULT_RIGS") or 8)
