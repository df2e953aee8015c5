"""Everything that runs on the servers and can be killed: ax-ingress, ax-dispatch, and workers in several languages.

A member that ends by itself is started again, as a supervisor would. That is no fault of a worker from examples/ (they are
written to be short), but one of AX's programs may end by itself only with an orderly code 1 while no server answers.
"""
import asyncio
import os
import shutil
import sys
import time
import urllib.request

import tools
from harness import ROOT, Process, free_port, own

HERE = os.path.dirname(os.path.abspath(__file__))
AGAIN_S = 0.3


class Member(Process):
    def __init__(self, fleet, kind, name, argv, env=None):
        urls = fleet.servers.url_for(name)
        super().__init__(name, argv, {**fleet.env, "NATS_URL": urls, "CHAOS_NAME": name, **(env or {})},
                         fleet.directory)
        self.kind, self.down_until, self.paused, self.busy = kind, 0.0, False, False

    def metrics(self):
        """What /metrics says, for the logs."""
        try:
            port = self.argv[self.argv.index("--http") + 1]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as answer:
                return answer.read().decode()
        except (ValueError, OSError) as error:
            return repr(error)

    def take_down(self, seconds):
        """kill -9, and not started again for a while."""
        self.down_until = time.monotonic() + seconds
        self.kill()

    def pause(self):
        super().pause()
        self.paused = True

    def resume(self):
        self.paused = False
        if self.running():
            super().resume()


class Fleet:
    def __init__(self, directory, servers, env, sink, ack_wait, log):
        self.directory, self.servers, self.env, self.sink = directory, servers, env, sink
        self.members, self.ended, self.skipped = [], [], []
        self.env = {**env, "CHAOS_SINK": str(sink), "CHAOS_ACK_WAIT": str(ack_wait), "AX_LOG_LEVEL": "info"}
        self.log = log

    def add(self, kind, name, argv, env=None):
        self.members.append(Member(self, kind, name, argv, env))

    def add_daemons(self, ingress, dispatch, dispatch_args=()):
        for i in range(ingress):
            self.add("ingress", f"ingress-{i}", [own("ax-ingress"), "--http", str(free_port())])
        for i in range(dispatch):
            self.add("dispatch", f"dispatch-{i}", [own("ax-dispatch"), "--http", str(free_port()), *dispatch_args])

    def add_workers(self, languages):
        for name, pool, slots in (("worker-0", "open", 8), ("worker-1", "open", 8), ("worker-2", "rated", 6),
                                  ("worker-3", "rated", 6)):
            self.add("worker", name, [sys.executable, os.path.join(HERE, "workers.py"), name, pool, str(slots)])
        self.add("ax-work", "ax-work", [own("ax"), "work", "shell", "--concurrency", "3", "--exec",
                                        f"bash {os.path.join(HERE, 'work.sh')}"])
        for language in languages:
            argv = self._example(language)
            if argv:
                self.add("example", f"example-{language}", [*argv, "lang"])
                example = self.members[-1]  # they take one address
                example.env["NATS_URL"] = example.env["NATS_URL"].split(",")[len(self.members) % len(self.servers.servers)]

    def _example(self, language):
        out = os.path.join(self.directory, f"{language}-example")
        try:
            if language == "python":
                return [sys.executable, os.path.join(ROOT, "examples/python/worker.py")]
            if language == "c":
                return [tools.c_build("examples/c/worker.c", out)]
            if language == "go":
                return [tools.go_build("examples/go", "./worker", out)]
            return [tools.node_directory("examples/node", out), os.path.join(out, "worker.mjs")]
        except SystemExit:  # its toolchain is missing: said by name
            self.skipped.append(language)
            shutil.rmtree(out, ignore_errors=True)
            return None

    def of(self, *kinds):
        return [m for m in self.members if m.kind in kinds]

    def start(self):
        for member in self.members:
            member.start()

    async def supervise(self):
        while True:
            for member in self.members:
                if member.running() or time.monotonic() < member.down_until:
                    continue
                if member.p is not None:  # nobody killed it
                    code = member.p.returncode
                    self.ended.append((member.name, code))
                    self.log("ended", who=member.name, code=code)
                    member.p, member.down_until = None, time.monotonic() + AGAIN_S
                    continue
                member.start()
                self.log("up", who=member.name)
            await asyncio.sleep(0.05)

    def stop(self, *kinds):
        """SIGTERM; the problems."""
        problems = []
        for member in self.of(*kinds):
            try:
                code = member.stop(15)
                if code != 0 and member.kind in ("ingress", "dispatch"):
                    problems.append(f"{member.name} ended with {code} on SIGTERM")
            except AssertionError as error:
                problems.append(str(error))
        return problems

    def kill(self):
        for member in self.members:
            member.kill()

    def wrong_ends(self):
        """Ends that AX has to answer for."""
        return [f"{name} ended by itself with {code}" for name, code in self.ended
                if name.startswith(("ingress", "dispatch", "ax-work")) and code != 1]
