"""`ax up` as the system tests start it."""
import asyncio
import os
import re
import signal
import subprocess
import sys

from harness import SLOW, eventually, need, own


class Up:
    """One `ax up`, or a parent process that runs it."""

    def __init__(self, ax, name, *args, parent=False, env=None, **options):
        self.log_path = os.path.join(ax.directory, f"{name}.log")
        argv = [own("ax"), "up", *args]
        if parent:
            argv = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *argv]
        environment = {k: v for k, v in ax.env.items() if k != "NATS_URL"}
        environment.update({"AX_NATS_SERVER": need("nats-server", "AX_NATS_SERVER"), **(env or {})})
        self.p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=open(self.log_path, "ab"),
                                  stdin=subprocess.DEVNULL, env=environment, cwd=ax.directory, **options)
        self.url = None

    async def ready(self, url=r"nats://127\.0\.0\.1:\d+"):
        line = await asyncio.wait_for(asyncio.to_thread(self.p.stdout.readline), 60 * SLOW)
        found = re.fullmatch(f"ax ready ({url})\n", line.decode())
        assert found, f"ready line: {line!r}; {self.log()[-2000:]}"
        self.url = found[1]
        return self

    def log(self):
        return open(self.log_path, errors="replace").read()

    def pids(self):
        """Last pid of each child, by name, from the log."""
        return {name: int(pid) for name, pid in re.findall(r"msg=started child=(\S+) pid=(\d+)", self.log())}

    def said(self):
        """What it tells the caller, without its log and those of its children."""
        return [line for line in self.log().splitlines() if line.startswith("ax: ")]

    async def refused(self):
        """(exit code, what it says) of one that must not become ready."""
        code = await self.ended()
        assert not self.p.stdout.read(), "a ready line of what is not ready"
        return code, self.said()

    async def stop(self):
        self.p.send_signal(signal.SIGTERM)
        code = await self.ended()
        assert code == 0, f"ended with {code}: {self.log()[-2000:]}"

    async def ended(self, seconds=20):
        return await asyncio.wait_for(asyncio.to_thread(self.p.wait), seconds * SLOW)

    async def none_left(self, pids):
        await eventually(lambda: not [p for p in pids if alive(p)], 20, f"processes {pids} gone")


def listening(pids):
    """Addresses on which these processes listen, as /proc/net writes them."""
    sockets = set()
    for pid in pids:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                sockets.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass
    found = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as f:
            rows = [line.split() for line in f][1:]
        found |= {row[1].rpartition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}
    return found


def alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
