# A daemon whose loop stands still is alive, and not ready: /readyz says so, with the reason, and /healthz goes on
# answering. One thread alone is stopped here, by ptrace.
# ctest: timeout=60
import ctypes
import os

from harness import eventually, run, skip

WALL = 0x40000000
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid):
    if libc.ptrace(request, pid, None, None) != 0:
        skip(f"ptrace: {os.strerror(ctypes.get_errno())}")


async def test(ax):
    for daemon in (ax.ingress, ax.dispatch):
        pid = daemon.p.pid
        ptrace(PTRACE_SEIZE, pid)
        ptrace(PTRACE_INTERRUPT, pid)
        os.waitpid(pid, WALL)

        def says_so():
            status, text = daemon.get("/readyz")
            assert status == 503 and "the loop has stood still for " in text, (status, text)
            return True
        await eventually(says_so, 15, f"{daemon.name} is not ready")
        assert daemon.get("/healthz")[0] == 200
        ptrace(PTRACE_DETACH, pid)
        await daemon.ready()


run(test)
