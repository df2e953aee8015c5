# The programs are built so that an overwritten stack, a too short buffer or a forged jump ends the process: read off
# their ELF files.
import os
import re
import struct
import sys

from harness import own, skip

PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO, PT_LOAD = 2, 0x6474E551, 0x6474E552, 1
DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_FLAGS, DT_FLAGS_1 = 5, 6, 10, 11, 30, 0x6FFFFFFB
X, W = 1, 2
ENDBR64 = bytes.fromhex("f30f1efa")  # where an indirect call or jump may land on x86-64


class Elf:
    """What this test needs of a 64-bit little-endian ELF file: segments, the dynamic section, names of its symbols."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        assert self.data[:6] == b"\x7fELF\2\1", f"{path} is no 64-bit little-endian ELF file"
        self.type, self.machine = struct.unpack_from("<HH", self.data, 16)
        at, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        names = ("type", "flags", "offset", "address", "physical", "bytes", "memory", "align")
        self.segments = [dict(zip(names, struct.unpack_from("<IIQQQQQQ", self.data, at + i * size))) for i in range(count)]
        dynamic = self.of_type(PT_DYNAMIC)[0]
        self.dynamic = dict(struct.iter_unpack("<QQ", self.content(dynamic)))

    def of_type(self, number):
        return [s for s in self.segments if s["type"] == number]

    def content(self, segment):
        return self.data[segment["offset"]:segment["offset"] + segment["bytes"]]

    def at(self, address):
        """File offset of what is loaded at this address."""
        return next(address - s["address"] + s["offset"] for s in self.of_type(PT_LOAD)
                    if s["address"] <= address < s["address"] + s["bytes"])

    def symbols(self):
        """Names of the dynamic symbols; the table ends where the strings begin."""
        table, strings = self.at(self.dynamic[DT_SYMTAB]), self.at(self.dynamic[DT_STRTAB])
        names = self.data[strings:strings + self.dynamic[DT_STRSZ]]
        for at in range(table, strings, self.dynamic[DT_SYMENT]):
            name, = struct.unpack_from("<I", self.data, at)
            yield names[name:names.index(b"\0", name)].decode()


def check(path, fortified):
    elf = Elf(path)
    stack = elf.of_type(PT_GNU_STACK)
    symbols = set(elf.symbols())
    yield elf.type == 3 and elf.dynamic.get(DT_FLAGS_1, 0) & 0x08000000, "is loaded anywhere (PIE)"
    yield elf.of_type(PT_GNU_RELRO), "has tables that become read-only (relro)"
    yield elf.dynamic.get(DT_FLAGS, 0) & 8 or elf.dynamic.get(DT_FLAGS_1, 0) & 1, "binds all symbols at its start (now)"
    yield len(stack) == 1 and not stack[0]["flags"] & X, "has a stack that is not executable"
    yield all(s["flags"] & (W | X) != W | X for s in elf.of_type(PT_LOAD)), "has no segment to write and to execute"
    yield "__stack_chk_fail" in symbols, "guards the stack (stack protector)"
    if fortified:
        yield [s for s in symbols if s.endswith("_chk")], "checks sizes of buffers (FORTIFY)"
    if elf.machine == 62:
        code = b"".join(elf.content(s) for s in elf.of_type(PT_LOAD) if s["flags"] & X)
        yield code.count(ENDBR64) > 200, "marks where indirect jumps may land (cf-protection)"


def cache():
    """The settings that the programs were built with."""
    path = os.path.join(os.path.dirname(own("ax")), "..", "CMakeCache.txt")
    try:
        with open(path) as f:
            return dict(re.findall(r"^(\w+):\w+=(.*)$", f.read(), re.M))
    except OSError:
        return {}


built = cache()
if built.get("AX_HARDEN") == "OFF":
    skip("built with AX_HARDEN=OFF")
missing = [f"{name}: it is not so that it {what}" for name in ("ax", "ax-ingress", "ax-dispatch")
           for right, what in check(own(name), built.get("CMAKE_BUILD_TYPE") != "Debug") if not right]
print("\n".join(missing) or "three programs, all hardened")
sys.exit(1 if missing else 0)
