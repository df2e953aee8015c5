"""What is done to AX, drawn from a seed: the plan is made before the run, so that the same seed does the same again.

Kinds are dealt from a shuffled deck, so that also a short run has all of them; targets, moments and lengths are random.
"""
import asyncio
import random
import time
from dataclasses import dataclass

from harness import SLOW

COMMON = """
kill-ingress kill-dispatch kill-dispatch kill-worker kill-worker kill-example kill-ax-work kill-server restart-server
pause-ingress pause-dispatch long-pause-dispatch long-pause-worker pause-server pause-ax-work
cut-ingress cut-dispatch cut-worker stall-dispatch stall-worker slow-link store-full
""".split()
CLUSTERED = """
kill-server kill-server restart-server restart-all step-down step-down step-down consumer-step-down consumer-step-down
cut-route stall-route slow-route isolate-server
""".split()
STREAMS = ("AX_HIGH", "AX_NORMAL", "AX_LOW", "AX_WORK", "AX_LATER", "KV_AX_DONE", "AX_DEAD", "AX_SPILL")
CONSUMERS = (("AX_WORK", "open"), ("AX_WORK", "rated"), ("AX_WORK", "lang"), ("AX_NORMAL", "open"),
             ("AX_NORMAL", "rated"), ("AX_HIGH", "open"), ("AX_LATER", "feeder-normal"))
PAUSE_DOES_NOT_COUNT_S = 0.05


@dataclass
class Step:
    at: float      # seconds after the beginning
    kind: str
    choice: float  # 0…1: which of the possible targets
    length: float  # 0…1: how long, within the kind's range

    def __str__(self):
        return f"{self.at:.2f} {self.kind} {self.choice:.3f} {self.length:.3f}"


def plan(seed, seconds, servers, every, more=()):
    """more: kinds beside the usual ones."""
    rng = random.Random(f"plan {seed}")
    kinds = COMMON + (CLUSTERED if servers > 1 else []) + list(more)
    steps, deck, at = [], [], 0.5
    while at < seconds:
        if not deck:
            deck = list(kinds)
            rng.shuffle(deck)
        steps.append(Step(at, deck.pop(), rng.random(), rng.random()))
        at += rng.expovariate(1 / every)
    return steps


class Injector:
    def __init__(self, fleet, servers, proxy, log, ack_wait, lease, lose_quorum=False):
        self.fleet, self.servers, self.proxy, self.log = fleet, servers, proxy, log
        self.ack_wait, self.lease, self.lose_quorum = ack_wait, lease, lose_quorum
        self.counts, self.skipped = {}, 0
        self.links_busy = set()

    async def run(self, steps):
        begun, jobs = time.monotonic(), []
        for step in steps:
            await asyncio.sleep(max(0.0, begun + step.at - time.monotonic()))
            jobs.append(asyncio.create_task(self._do(step)))
        for job in jobs:
            await job

    async def _do(self, step):
        what, _, target = step.kind.partition("-")
        if what == "long":
            what, target = "long-pause", target.partition("-")[2]
        if step.kind in ("restart-all", "step-down", "consumer-step-down", "disk-full", "store-full", "isolate-server", "slow-link"):
            what, target = step.kind, ""
        done = await getattr(self, "_" + what.replace("-", "_"))(step, target)
        if done:
            self.counts[step.kind] = self.counts.get(step.kind, 0) + 1
        else:
            self.skipped += 1

    # ---- targets

    def _members(self, target):
        if target == "server":
            up = [s for s in self.servers.servers if s.running() and not getattr(s, "busy", False)]
            # In a cluster a majority stays, but for restart-all: more is a fault on top of a fault.
            spare = len(up) > len(self.servers.servers) // 2 + 1 or len(self.servers.servers) == 1
            return up if spare or self.lose_quorum else []
        return [m for m in self.fleet.of(target) if m.running() and not m.busy]

    def _pick(self, step, found):
        return found[int(step.choice * len(found))] if found else None

    def _took(self, kind, who, begun, **more):
        """For the judge: from `begun` until now `who` was as `kind` says."""
        self.log("fault", t=begun, kind=kind, who=who, until=time.time(), **more)

    # ---- processes

    async def _kill(self, step, target):
        member = self._pick(step, self._members(target))
        if member is None:
            return False
        begun = time.time()
        member.busy = True
        if target == "server":
            member.kill()
            await asyncio.sleep(0.1 + step.length * 1.5)
            await self._server_back(member)
        else:
            member.take_down(0.05 + step.length * 1.5)
            while not member.running():
                await asyncio.sleep(0.02)
        member.busy = False
        self._took("kill", member.name, begun, role=target)
        return True

    async def _server_back(self, server):
        server.start()
        await server.ready(60)

    async def _restart(self, step, target):
        member = self._pick(step, self._members("server"))
        if member is None:
            return False
        begun = time.time()
        member.busy = True
        await asyncio.to_thread(member.stop, 20)
        await asyncio.sleep(step.length)
        await self._server_back(member)
        member.busy = False
        self._took("restart", member.name, begun, role="server")
        return True

    async def _restart_all(self, step, _):
        found = [s for s in self.servers.servers if s.running() and not getattr(s, "busy", False)]
        if len(found) < len(self.servers.servers):
            return False
        begun = time.time()
        for server in found:
            server.busy = True
        await asyncio.gather(*(asyncio.to_thread(s.stop, 20) for s in found))
        await asyncio.sleep(step.length)
        for server in found:
            server.start()
        for server in found:
            await server.ready(60)
            server.busy = False
        for server in found:
            self._took("restart", server.name, begun, role="server")
        return True

    async def _hold(self, step, target, seconds):
        member = self._pick(step, self._members(target))
        if member is None:
            return False
        begun = time.time()
        member.busy = True
        member.pause()
        await asyncio.sleep(seconds)
        member.resume()
        member.busy = False
        self._took("pause", member.name, begun, role=target)
        return True

    async def _pause(self, step, target):
        return await self._hold(step, target, 0.1 + step.length * 1.2)

    async def _long_pause(self, step, target):
        lease = self.lease if target == "dispatch" else self.ack_wait
        return await self._hold(step, target, lease * (1.2 + step.length))

    # ---- links

    async def _link(self, step, names, how, kind, seconds, *words):
        names = [n for n in names if n not in self.links_busy]
        if not names:
            return False
        begun = time.time()
        self.links_busy.update(names)
        for name in names:
            self.proxy.say(how, name, *words)
        await asyncio.sleep(seconds)
        for name in names:
            self.proxy.say("heal", name)
            self._took(kind, name, begun, role="link")
        self.links_busy.difference_update(names)
        return True

    def _links_of(self, step, target):
        """All links of one client."""
        found = [m.name for m in self.fleet.of(target)]
        return self.servers.links[self._pick(step, found)] if found else []

    async def _cut(self, step, target):
        names = self._pick(step, self.servers.routes) if target == "route" else self._links_of(step, target)
        return await self._link(step, names, "cut", "cut", 0.1 + step.length * 2)

    async def _stall(self, step, target):
        names = self._pick(step, self.servers.routes) if target == "route" else self._links_of(step, target)
        return await self._link(step, names, "stall", "stall", 0.5 + step.length * self.ack_wait * 1.5)

    async def _slow(self, step, target):
        return await self._link(step, self._pick(step, self.servers.routes), "slow", "slow", 1 + step.length * 3,
                                int(10 + step.length * 90), 4000)

    async def _slow_link(self, step, _):
        names = [name for links in self.servers.links.values() for name in links]
        return await self._link(step, [self._pick(step, names)], "slow", "slow", 1 + step.length * 3,
                                int(20 + step.length * 180), 500)

    async def _isolate_server(self, step, _):
        server = self._pick(step, self._members("server"))
        if server is None:
            return False
        names = [r for pair in self.servers.routes for r in pair if str(server.number) in r.split("-")[1:]]
        server.busy = True
        done = await self._link(step, names, "stall", "stall", 1 + step.length * 4)
        server.busy = False
        return done

    # ---- servers

    async def _step_down(self, step, _):
        return await self._step_down_of(f"STREAM.LEADER.STEPDOWN.{self._pick(step, STREAMS)}")

    async def _consumer_step_down(self, step, _):
        return await self._step_down_of("CONSUMER.LEADER.STEPDOWN." + ".".join(self._pick(step, CONSUMERS)))

    async def _step_down_of(self, what):
        begun = time.time()
        try:
            reply = await self.servers.api(what, timeout=3)
        except Exception:  # noqa: BLE001  nobody answers: something else is going on there
            return False
        self._took("step-down", what, begun, role="leader", reply=reply)
        return reply.get("success", False)

    async def _store_full(self, step, _):
        """JetStream's storage limit is reached for a while: the servers refuse to store. Schedules that fell due meanwhile
        would never fire: nats-server marks them as under way and does not look at them again before it is started
        again or another server leads. So that is done, as docs/operating.md says."""
        if "store" in self.links_busy:
            return False
        self.links_busy.add("store")
        begun = time.time()
        full = await self.servers.fill_store()
        await asyncio.sleep(0.5 + step.length * 2)
        while not await self.servers.free_store():
            await asyncio.sleep(0.1)
        self._took("store-full", "servers", begun, role="server")
        if len(self.servers.servers) == 1:
            # Leases could not be renewed: a restart before the pools are led again would be a double fault each time.
            await asyncio.sleep(2 * self.lease + self.ack_wait + 1)
        while full and not await self._woken(step):
            await asyncio.sleep(0.3)
        self.links_busy.discard("store")
        return full

    async def _woken(self, step):
        """AX_LATER's schedules are looked at anew."""
        if len(self.servers.servers) == 1:
            return await self._restart(step, "server")
        return await self._step_down_of("STREAM.LEADER.STEPDOWN.AX_LATER")

    async def _disk_full(self, step, _):
        """The disk has no byte left for a while. A stream that could not be written stays closed for good: so the server
        is started again when there is room, as an operator would."""
        server = self._pick(step, [s for s in self._members("server") if s.small_disk])
        if server is None:
            return False
        begun = time.time()
        server.busy = True
        await asyncio.to_thread(server.fill_disk)
        await asyncio.sleep(0.5 + step.length * 2.5)
        server.free_disk()
        stopped = await asyncio.to_thread(self._stops, server)
        await self._server_back(server)
        server.busy = False
        self._took("disk-full", server.name, begun, role="server")
        if not stopped:  # nats-server may hang in its shutdown after an error of its disk
            self.counts["kill-server (did not stop after disk-full)"] = \
                self.counts.get("kill-server (did not stop after disk-full)", 0) + 1
            self._took("kill", server.name, begun, role="server")
        return True

    @staticmethod
    def _stops(server):
        """False when it had to be killed."""
        try:
            server.stop(4 / SLOW)
            return True
        except AssertionError:
            return False
