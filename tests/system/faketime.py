"""Clocks that lie: the host's wall clock under AX's daemons, and the server's own.

Daemons: libfaketime, preloaded into them only. It would fake CLOCK_MONOTONIC and CLOCK_BOOTTIME as well, which no step
of a wall clock moves (that is what they are for), so FAKETIME_DONT_FAKE_MONOTONIC is set.

Server: a Go program does not call libc for the time, so nothing that is preloaded reaches it; and time namespaces have
no CLOCK_REALTIME. What Go does call is clock_gettime in the vDSO, the page of code that the kernel maps into each
process. That page is private to the process: this changes it in the running server, so that its CLOCK_REALTIME is the
kernel's plus an offset. To the server this is a step of the host's clock, its monotonic clock goes on as it should.
x86-64 Linux only; elsewhere such a test is skipped by name.
"""
import email.utils
import glob
import os
import platform
import signal
import struct
import time
import urllib.request

from harness import SANITIZE, Daemon, skip


def library():
    """libfaketime for programs with threads."""
    if SANITIZE:
        skip("libfaketime and the sanitizers cannot be preloaded together")
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") or skip("no libfaketime (Debian package libfaketime)")
    return found[0]


class HostClock:
    """The wall clock of the daemons started with it."""

    def __init__(self, ax):
        self.ax, self.path, self.offset = ax, os.path.join(ax.directory, "host-clock"), 0
        self.env = {"LD_PRELOAD": f"{library()} libc.so.6", "FAKETIME_TIMESTAMP_FILE": self.path,
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_CACHE_DURATION": "1"}
        self.set(0)

    def set(self, offset):
        """Steps the clock to `offset` seconds from the real one."""
        with open(self.path + ".new", "w") as f:
            f.write(f"{offset:+d}\n")
        os.replace(self.path + ".new", self.path)
        self.offset = offset

    def daemon(self, name):
        """A daemon (ax-ingress, ax-dispatch) that lives by this clock."""
        d = Daemon(self.ax, name, name)
        d.env = {**d.env, **self.env}
        self.ax.processes.append(d)
        return d.start()

    def is_told(self, daemon):
        """True when the daemon tells the time so: the Date of its HTTP answers comes from time()."""
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/healthz", timeout=5) as answer:
            told = email.utils.parsedate_to_datetime(answer.headers["Date"]).timestamp()
        assert abs(told - time.time() - self.offset) < 5, f"{daemon.name} is {told - time.time():.0f} s from real time"
        return True


# clock_gettime(clock, ts): asks the kernel; for CLOCK_REALTIME adds the seconds that stand behind the code.
CODE = bytes.fromhex("b8e4000000"      # mov eax, 228 (clock_gettime)
                     "0f05"            # syscall
                     "85c0" "750e"     # test eax, eax; jne return
                     "85ff" "750a"     # test edi, edi (CLOCK_REALTIME is 0); jne return
                     "488b0d0a000000"  # mov rcx, [rip + 10]
                     "48010e"          # add [rsi], rcx
                     "c3" "909090909090")
OFFSET_AT = 32


def _symbol(image, wanted):
    """Value of a dynamic symbol of a 64-bit ELF image in memory."""
    headers, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    base, dynamic = 0, None
    for i in range(count):
        kind, _, offset, address = struct.unpack_from("<IIQQ", image, headers + i * size)
        if kind == 1:
            base = address - offset
        elif kind == 2:
            dynamic = offset
    tags = {}
    at = dynamic
    while True:
        tag, value = struct.unpack_from("<QQ", image, at)
        if tag == 0:
            break
        tags[tag] = value - base
        at += 16
    strings, symbols = tags[5], tags[6]
    end = strings if strings > symbols else len(image)  # the string table follows the symbols
    for at in range(symbols, end - 23, 24):
        name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", image, at)
        start = strings + name
        if image[start:image.index(b"\0", start)] == wanted:
            return value - base
    return None


class ServerClock:
    """The wall clock of a running nats-server; after a restart of the server a new one is needed."""

    def __init__(self, process):
        if platform.machine() != "x86_64":
            skip(f"the server's clock can be moved on x86_64 only, this is {platform.machine()}")
        self.pid, self.offset = process.p.pid, 0
        with open(f"/proc/{self.pid}/maps") as f:
            line = next((line for line in f if line.rstrip().endswith("[vdso]")), None) or skip("no vDSO")
        self.start, self.end = (int(x, 16) for x in line.split()[0].split("-"))
        image = self._read(self.start, self.end - self.start)
        entry = _symbol(image, b"__vdso_clock_gettime") or skip("the vDSO has no __vdso_clock_gettime")
        room = len(image) - 64 & ~15
        if any(image[room:]):
            skip("the vDSO has no room at its end")
        try:
            self._write(room, CODE + bytes(8))
        except OSError as error:
            skip(f"the vDSO cannot be changed: {error}")
        self.cell = room + OFFSET_AT
        jump = b"\xe9" + struct.pack("<i", room - (entry + 5))
        while True:  # no thread may stand in what is changed
            os.kill(self.pid, signal.SIGSTOP)
            if self._stands_elsewhere():
                break
            os.kill(self.pid, signal.SIGCONT)
            time.sleep(0.01)
        self._write(entry, jump)
        os.kill(self.pid, signal.SIGCONT)

    def _read(self, address, count):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as f:
            f.seek(address)
            return f.read(count)

    def _write(self, at, data):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as f:
            f.seek(self.start + at)
            f.write(data)

    def _stands_elsewhere(self):
        for task in os.listdir(f"/proc/{self.pid}/task"):
            deadline = time.monotonic() + 5
            while True:
                with open(f"/proc/{self.pid}/task/{task}/stat") as f:
                    stopped = f.read().rsplit(")", 1)[1].split()[0] == "T"
                if stopped:
                    break
                assert time.monotonic() < deadline, "the server does not stop"
            with open(f"/proc/{self.pid}/task/{task}/syscall") as f:
                where = f.read().split()
            if where[0] == "running" or self.start <= int(where[-1], 16) < self.end:
                return False
        return True

    def set(self, offset):
        """Steps the server's clock to `offset` whole seconds from the real one."""
        self._write(self.cell, struct.pack("<q", offset))
        self.offset = offset

    def now(self):
        return time.time() + self.offset
