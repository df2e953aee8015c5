"""Failing allocations in a running daemon: the test's side of tests/faults/oom.c."""
import mmap
import os
import struct
import subprocess

from harness import own

SOURCES = ("ax", "nats", "jansson", "protobuf", "bloom", "crypto")
OFF, COUNT, FAIL = range(3)
LAYOUT = struct.Struct("<IIqq6qqQ")  # mode, source, nth, length, counted, failed, where


class Control:
    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(bytes(LAYOUT.size))
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), LAYOUT.size)

    def environment(self):
        return {"LD_PRELOAD": own("libax_oom.so"), "AX_OOM_CONTROL": self.path}

    def _write(self, mode, source=0, nth=0, length=0):
        self.map[0:4] = struct.pack("<I", OFF)
        self.map[4:] = LAYOUT.pack(OFF, source, nth, length, *(0,) * 6, 0, 0)[4:]
        self.map[0:4] = struct.pack("<I", mode)

    def count(self):
        self._write(COUNT)

    def fail(self, source, nth, length=1):
        """The nth allocation of that source from now on is refused, and length - 1 after it."""
        self._write(FAIL, SOURCES.index(source), nth, length)

    def stop(self):
        self.map[0:4] = struct.pack("<I", OFF)

    def counted(self):
        return dict(zip(SOURCES, LAYOUT.unpack(self.map[:])[4:10]))

    def failed(self):
        return LAYOUT.unpack(self.map[:])[10]

    def where(self, program, source):
        """The refused allocation's place, as well as it can be told."""
        address = LAYOUT.unpack(self.map[:])[11] - 1
        if source != "ax":
            return f"{source}+{address:#x}"
        out = subprocess.run(["addr2line", "-pfie", own(program), hex(address)], capture_output=True, text=True)
        return out.stdout.splitlines()[0].replace(os.getcwd() + "/", "") if out.stdout else hex(address)
