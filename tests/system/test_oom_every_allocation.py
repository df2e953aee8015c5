# No memory, one allocation after the other: while a task goes through ingress and dispatch, its nth allocation made by
# AX's own code, nats.c, jansson, protobuf-c, libbloom or OpenSSL is refused, for each n (in `make test` for some of
# them, other ones each time). The daemon goes on, or says "out of memory" in one line, ends with an error and is
# started again. Where nats.c crashes in its own clean-up, the daemon says that it crashed; such ends are counted apart.
# No task is lost or run twice, and a producer that asks again gets its answer.
# AX_OOM_ALL=1 refuses every one (minutes); AX_OOM_SEED repeats a choice; AX_OOM_ONLY=flow:source:n,… does those.
# ctest: faults
# ctest: serial
# ctest: timeout=240
import asyncio
import os
import random
import signal
import time

from fault_rig import POOL, Rig, seconds_since
from harness import SLOW, Ax, eventually, run
from oom import SOURCES, Control

ALL = os.environ.get("AX_OOM_ALL") == "1"
RIGS = int(os.environ.get("AX_OOM_RIGS") or 6)
CHOSEN = 160  # of all, in `make test`
BACKGROUND = 400  # provisioning and timers go on: from here on it is their allocations that are counted
SEED = int(os.environ.get("AX_OOM_SEED") or time.time())
# flow: (daemon, plan, headers, how it ends). "known" submits a finished key again.
FLOWS = {
    "retried": ("dispatch", "nak,ack", {"Traceparent": "00-ab"}, "done"),
    "dead": ("dispatch", "term", None, "dead"),
    "delayed": ("ingress", "ack", {"Ax-Delay": "100ms", "Traceparent": "00-ab"}, "done"),
    "known": ("ingress", "ack", None, "done"),
}


class OomRig(Rig):
    async def set_pool(self):
        """Longer than the machine may hold the worker up: an ack that comes late and is lost, too, may cost another start."""
        await self.ax.pool("email", POOL, ack_wait=3)

    async def start(self):
        """The daemons, each with its own control."""
        self.controls, self.producers, self.bad, self.lived, self.ended_well, self.unreached = {}, [], [], 0, 0, 0
        self.crashed, self.last_source = 0, None
        for name, args in (("ingress", ()), ("dispatch", ("--lease-ttl", "1s"))):
            control = Control(os.path.join(self.ax.directory, f"{name}.oom"))
            before = self.ax.env
            self.ax.env = {**before, **control.environment()}
            daemon = self.ax.daemon(f"ax-{name}", 0, args)
            self.ax.env = before
            daemon.read = 0
            setattr(self.ax, name, daemon)
            self.controls[name] = control
            await daemon.ready()
        await self.prepare()
        await self.work()
        self.known = await self.submit()
        await eventually(lambda: self.known in self.ledger.acked, 10, "a finished task")

    def offer(self, flow):
        _, plan, headers, end = FLOWS[flow]
        key = self.known if flow == "known" else self.key(flow)
        self.ended[key] = end
        producer = self.submitting(plan, key, headers=headers)
        self.producers.append(producer)
        return key, producer

    def over(self, flow, key, producer):
        if flow == "dead":
            return bool(self.ledger.starts.get(key))
        return producer.done() if flow == "known" else key in self.ledger.acked

    async def baseline(self, flow):
        """How many allocations of each source one task costs."""
        control = self.controls[FLOWS[flow][0]]
        counts = []
        for _ in range(3):
            control.count()
            key, producer = self.offer(flow)
            await eventually(lambda: self.over(flow, key, producer), 10, flow, every=0.005)
            await asyncio.sleep(0.03)  # what comes after its last sign
            control.stop()
            counts.append(control.counted())
        return {s: min(max(c[s] for c in counts[1:]), BACKGROUND) for s in SOURCES}

    async def mourn(self, daemon, what):
        """Is it dead, and did it say why?"""
        if daemon.running():
            return False
        code, said = daemon.p.returncode, daemon.log()[daemon.read:]
        daemon.read += len(said)
        lines = [line for line in said.splitlines() if 'msg="out of memory' in line or 'msg="crashed"' in line]
        in_nats = code == -signal.SIGSEGV and self.last_source == "nats"
        self.crashed += in_nats
        if not lines or (code <= 0 and not in_nats):
            self.bad.append(f"{what}: {daemon.name} ended with {code}, last words: {said.splitlines()[-3:]}")
            print(self.bad[-1], flush=True)
        daemon.start()
        await daemon.ready()
        return True

    async def refuse(self, flow, source, n):
        name = FLOWS[flow][0]
        daemon, control = getattr(self.ax, name), self.controls[name]
        what = f"{flow}:{source}:{n}"
        self.last_source = source
        control.fail(source, n)
        key, producer = self.offer(flow)
        until = time.monotonic() + 1.5 * SLOW
        while not control.failed() and not self.over(flow, key, producer) and time.monotonic() < until and daemon.running():
            await asyncio.sleep(0.004)
        await asyncio.sleep(0.02)
        control.stop()
        failed = control.failed()
        if await self.mourn(daemon, f"{what} at {control.where(daemon.checked, source)}" if failed else what):
            self.ended_well += 1
        elif failed:
            self.lived += 1
        else:
            self.unreached += 1

    async def finish(self):
        """What was left behind settles while nothing fails any more."""
        watch = asyncio.create_task(self.watch())  # the last refusal's daemon may still be about to end
        await asyncio.wait_for(asyncio.gather(*self.producers), 40 * SLOW)
        await self.settled(45)
        watch.cancel()

    async def watch(self):
        while True:
            for daemon in (self.ax.ingress, self.ax.dispatch):
                await self.mourn(daemon, "afterwards")
            await asyncio.sleep(0.1)


async def test(ax):
    began = time.monotonic()
    work, rigs = [], []
    print(f"seed {SEED}")

    async def drive(number, counted):
        async with Ax(ingress=0, dispatch=0) as own:
            rig = OomRig(own, number)
            await rig.start()
            if number == 0:
                for flow in FLOWS:
                    counts = await rig.baseline(flow)
                    print(f"{flow}: {sum(counts.values())} allocations in {FLOWS[flow][0]}: {counts}", flush=True)
                    work.extend((flow, s, n) for s in SOURCES for n in range(1, counts[s] + 1))
                choose(work)
                counted.set()
            await counted.wait()
            while work:
                await rig.refuse(*work.pop())
            rigs.append(rig)
            await rig.finish()

    counted = asyncio.Event()
    await asyncio.gather(*(drive(i, counted) for i in range(RIGS)))
    total = {name: sum(getattr(rig, name) for rig in rigs) for name in ("lived", "ended_well", "unreached", "crashed")}
    bad = [b for rig in rigs for b in rig.bad]
    print(f"{total['lived'] + total['ended_well']} allocations refused: {total['lived']} times it lived, "
          f"{total['ended_well'] - len(bad)} times it ended with a word and was started again "
          f"({total['crashed']} of them crashes inside nats.c); "
          f"{total['unreached']} not reached; {sum(len(rig.ledger.effects) for rig in rigs)} tasks, "
          f"in {seconds_since(began)}")
    assert not bad, "\n".join(bad)
    assert total["lived"] > 0


def choose(work):
    only = os.environ.get("AX_OOM_ONLY")
    rng = random.Random(SEED)
    if only:
        work[:] = [(f, s, int(n)) for f, s, n in (w.split(":") for w in only.split(","))]
    elif not ALL:
        work[:] = rng.sample(work, min(CHOSEN, len(work)))
    rng.shuffle(work)


run(test, seconds=850, ingress=0, dispatch=0)
